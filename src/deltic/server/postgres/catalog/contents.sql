-- The rows of PostgreSQL's catalog, from those of the schema `deltic`. What is left out has the default of its column.
-- The oid of a primary key's index is its table's plus 1, that of its constraint is its table's plus 2.
INSERT INTO deltic.definitions
    SELECT oid, definition FROM deltic.relations WHERE kind = 'v'
    UNION ALL SELECT oid + 1, format('CREATE UNIQUE INDEX {0}_pkey ON public.{0} USING btree ({1})', name, array_to_string(key, ', '))
        FROM deltic.relations WHERE len(key) > 0
    UNION ALL SELECT oid + 2, format('PRIMARY KEY ({})', array_to_string(key, ', ')) FROM deltic.relations WHERE len(key) > 0;

INSERT INTO pg_catalog_.pg_namespace BY NAME
    SELECT unnest([11, 2200, 13000]) AS oid, unnest(['pg_catalog', 'public', 'information_schema']) AS nspname, 10 AS nspowner;
INSERT INTO pg_catalog_.pg_type BY NAME
    SELECT oid, name AS typname, 11 AS typnamespace, 10 AS typowner, size AS typlen, 'b' AS typtype, category AS typcategory,
        true AS typisdefined, ',' AS typdelim, "array" AS typarray, name || 'in' AS typinput, name || 'out' AS typoutput,
        name || 'recv' AS typreceive, -1 AS typtypmod
    FROM deltic.types;
INSERT INTO pg_catalog_.pg_type BY NAME
    SELECT "array" AS oid, '_' || name AS typname, 11 AS typnamespace, 10 AS typowner, -1 AS typlen, 'b' AS typtype, 'A' AS typcategory,
        true AS typisdefined, ',' AS typdelim, 'array_subscript_handler' AS typsubscript, oid AS typelem, 'array_in' AS typinput,
        'array_out' AS typoutput, 'array_recv' AS typreceive, -1 AS typtypmod
    FROM deltic.types WHERE "array" <> 0;
INSERT INTO pg_catalog_.pg_am BY NAME
    SELECT 2 AS oid, 'heap' AS amname, 'heap_tableam_handler' AS amhandler, 't' AS amtype
    UNION ALL SELECT 403, 'btree', 'bthandler', 'i';
INSERT INTO pg_catalog_.pg_roles BY NAME
    SELECT 10 AS oid, name AS rolname, true AS rolinherit, true AS rolcanlogin, -1 AS rolconnlimit FROM deltic.client;
INSERT INTO pg_catalog_.pg_user BY NAME SELECT name AS usename, 10 AS usesysid FROM deltic.client;
INSERT INTO pg_catalog_.pg_database BY NAME
    SELECT 5 AS oid, database AS datname, 10 AS datdba, 6 AS encoding, 'c' AS datlocprovider, 'C' AS datcollate, 'C' AS datctype,
        true AS datallowconn, -1 AS datconnlimit
    FROM deltic.client;
INSERT INTO pg_catalog_.pg_tablespace BY NAME SELECT 1663 AS oid, 'pg_default' AS spcname, 10 AS spcowner;
INSERT INTO pg_catalog_.pg_settings BY NAME
    SELECT name, setting, '' AS category, 'string' AS vartype FROM deltic.settings;

INSERT INTO pg_catalog_.pg_class BY NAME
    SELECT oid, name AS relname, 2200 AS relnamespace, 10 AS relowner, if(kind = 'v', 0, 2) AS relam, -1 AS reltuples, len(key) > 0 AS relhasindex,
        'p' AS relpersistence, kind AS relkind, width AS relnatts, kind = 'v' AS relhasrules, true AS relispopulated, 'd' AS relreplident
    FROM deltic.relations
    UNION ALL SELECT oid + 1, name || '_pkey', 2200, 10, 403, -1, false, 'p', 'i', len(key), false, true, 'd' FROM deltic.relations WHERE len(key) > 0;
INSERT INTO pg_catalog_.pg_attribute BY NAME
    SELECT relation AS attrelid, c.name AS attname, type AS atttypid, typlen AS attlen, number AS attnum, typelem <> 0 AS attndims,
        modifier AS atttypmod, NOT nullable AS attnotnull, 'p' AS attstorage, '' AS attidentity, '' AS attgenerated, '' AS attcompression,
        true AS attislocal, -1 AS attstattarget
    FROM deltic.columns c JOIN pg_catalog_.pg_type t ON t.oid = type;
INSERT INTO pg_catalog_.pg_index BY NAME
    SELECT oid + 1 AS indexrelid, oid AS indrelid, len(key) AS indnatts, len(key) AS indnkeyatts, true AS indisunique, true AS indisprimary,
        true AS indimmediate, true AS indisvalid, true AS indisready, true AS indislive, key_numbers AS indkey,
        list_transform(key, lambda _: 0) AS indcollation, indcollation AS indclass, indcollation AS indoption
    FROM deltic.relations WHERE len(key) > 0;
INSERT INTO pg_catalog_.pg_constraint BY NAME
    SELECT oid + 2 AS oid, name || '_pkey' AS conname, 2200 AS connamespace, 'p' AS contype, true AS convalidated, relations.oid AS conrelid,
        relations.oid + 1 AS conindid, true AS conislocal, true AS connoinherit, key_numbers AS conkey
    FROM deltic.relations WHERE len(key) > 0;
INSERT INTO pg_catalog_.pg_tables BY NAME
    SELECT 'public' AS schemaname, name AS tablename, 'deltic' AS tableowner, len(key) > 0 AS hasindexes FROM deltic.relations WHERE kind = 'r';
INSERT INTO pg_catalog_.pg_views BY NAME
    SELECT 'public' AS schemaname, name AS viewname, 'deltic' AS viewowner, definition FROM deltic.relations WHERE kind = 'v';
INSERT INTO pg_catalog_.pg_indexes BY NAME
    SELECT 'public' AS schemaname, name AS tablename, name || '_pkey' AS indexname, written AS indexdef
    FROM deltic.relations r JOIN deltic.definitions d ON d.oid = r.oid + 1 WHERE len(key) > 0;
INSERT INTO pg_catalog_.pg_stat_user_tables BY NAME
    SELECT oid AS relid, 'public' AS schemaname, name AS relname FROM deltic.relations WHERE kind = 'r';

INSERT INTO information_schema_.schemata BY NAME
    SELECT database AS catalog_name, nspname AS schema_name, name AS schema_owner FROM deltic.client, pg_catalog_.pg_namespace;
INSERT INTO information_schema_.information_schema_catalog_name BY NAME SELECT database AS catalog_name FROM deltic.client;
INSERT INTO information_schema_.enabled_roles BY NAME SELECT name AS role_name FROM deltic.client;
INSERT INTO information_schema_.tables BY NAME
    SELECT database AS table_catalog, 'public' AS table_schema, r.name AS table_name, if(kind = 'v', 'VIEW', 'BASE TABLE') AS table_type,
        if(kind = 'v', 'NO', 'YES') AS is_insertable_into, 'NO' AS is_typed
    FROM deltic.relations r, deltic.client;
INSERT INTO information_schema_.views BY NAME
    SELECT database AS table_catalog, 'public' AS table_schema, r.name AS table_name, definition AS view_definition, 'NONE' AS check_option,
        'NO' AS is_updatable, 'NO' AS is_insertable_into, 'NO' AS is_trigger_updatable
    FROM deltic.relations r, deltic.client WHERE kind = 'v';
INSERT INTO information_schema_.columns BY NAME
    SELECT database AS table_catalog, 'public' AS table_schema, r.name AS table_name, c.name AS column_name, number AS ordinal_position,
        if(nullable, 'YES', 'NO') AS is_nullable, if(typelem <> 0, 'ARRAY', format_type(type, -1)) AS data_type,
        CASE WHEN modifier >= 4 THEN (modifier - 4) >> 16 WHEN typname LIKE 'int_' THEN typlen * 8 END AS numeric_precision,
        CASE WHEN modifier >= 4 THEN 10 WHEN typname LIKE 'int_' THEN 2 END AS numeric_precision_radix,
        CASE WHEN modifier >= 4 THEN (modifier - 4) & 65535 WHEN typname LIKE 'int_' THEN 0 END AS numeric_scale,
        NULL AS character_maximum_length, NULL AS character_octet_length, NULL AS datetime_precision, NULL AS interval_precision,
        database AS udt_catalog, 'pg_catalog' AS udt_schema, typname AS udt_name, number AS dtd_identifier, 'NO' AS is_identity,
        'NEVER' AS is_generated, if(kind = 'v', 'NO', 'YES') AS is_updatable
    FROM deltic.columns c JOIN deltic.relations r ON r.oid = relation JOIN pg_catalog_.pg_type t ON t.oid = type
        LEFT JOIN deltic.types w ON w.oid = type, deltic.client;
INSERT INTO information_schema_.table_constraints BY NAME
    SELECT database AS table_catalog, 'public' AS table_schema, r.name AS table_name, database AS constraint_catalog,
        'public' AS constraint_schema, r.name || '_pkey' AS constraint_name, 'PRIMARY KEY' AS constraint_type, 'NO' AS is_deferrable,
        'NO' AS initially_deferred, 'YES' AS enforced
    FROM deltic.relations r, deltic.client WHERE len(key) > 0;
INSERT INTO information_schema_.key_column_usage BY NAME
    SELECT database AS table_catalog, 'public' AS table_schema, r.name AS table_name, database AS constraint_catalog,
        'public' AS constraint_schema, r.name || '_pkey' AS constraint_name, unnest(key) AS column_name,
        generate_subscripts(key, 1) AS ordinal_position
    FROM deltic.relations r, deltic.client;
INSERT INTO information_schema_.constraint_column_usage BY NAME
    SELECT * EXCLUDE (ordinal_position, position_in_unique_constraint) FROM information_schema_.key_column_usage;
