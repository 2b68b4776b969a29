-- The views read by the examples based on the applications of the A-Seq paper.
CREATE OR REPLACE TEMPORARY VIEW logins AS SELECT * FROM parquet.`${data}/logins.parquet`;

CREATE OR REPLACE TEMPORARY VIEW shop_clicks AS SELECT * FROM parquet.`${data}/shop_clicks.parquet`;

CREATE OR REPLACE TEMPORARY VIEW purchases AS SELECT * FROM parquet.`${data}/purchases.parquet`;
