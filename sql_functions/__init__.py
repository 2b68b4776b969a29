from sql_functions.unpacked import unpack_packages

unpack_packages()
