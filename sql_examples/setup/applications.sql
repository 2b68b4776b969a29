-- The views that the examples after the A-Seq paper's applications read.
CREATE OR REPLACE TEMPORARY VIEW logins AS SELECT * FROM parquet.`${data}/logins.parquet`;

CREATE OR REPLACE TEMPORARY VIEW shop_clicks AS SELECT * FROM parquet.`${data}/shop_clicks.parquet`;

CREATE OR REPLACE TEMPORARY VIEW purchases AS SELECT * FROM parquet.`${data}/purchases.parquet`;
