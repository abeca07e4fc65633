-- The functions of PostgreSQL that clients call about its catalog. Relations have names in them that no question
-- uses: the arguments of a macro are put in as they are written.
CREATE MACRO format_type(o, m) AS (
    SELECT CASE
        WHEN o = 1700 AND m >= 4 THEN 'numeric(' || ((m - 4) >> 16) || ',' || ((m - 4) & 65535) || ')'
        WHEN t__.typelem <> 0 AND t__.typlen = -1 THEN (SELECT e__.written FROM deltic.types e__ WHERE e__.oid = t__.typelem) || '[]'
        ELSE (SELECT e__.written FROM deltic.types e__ WHERE e__.oid = t__.oid)
    END FROM pg_catalog_.pg_type t__ WHERE t__.oid = o);
CREATE MACRO pg_get_userbyid(o) AS (SELECT r__.rolname FROM pg_catalog_.pg_roles r__ WHERE r__.oid = o);
CREATE MACRO pg_table_is_visible(o) AS true;
CREATE MACRO pg_type_is_visible(o) AS true;
CREATE MACRO pg_function_is_visible(o) AS true;
CREATE MACRO pg_operator_is_visible(o) AS true;
CREATE MACRO pg_opclass_is_visible(o) AS true;
CREATE MACRO pg_collation_is_visible(o) AS true;
CREATE MACRO pg_statistics_obj_is_visible(o) AS true;
CREATE MACRO pg_get_expr(e, o) AS e, (e, o, p) AS e;
CREATE MACRO pg_get_constraintdef(o) AS (SELECT d__.written FROM deltic.definitions d__ WHERE d__.oid = o),
    (o, p) AS (SELECT d__.written FROM deltic.definitions d__ WHERE d__.oid = o);
CREATE MACRO pg_get_viewdef(o) AS (SELECT d__.written FROM deltic.definitions d__ WHERE d__.oid = o),
    (o, p) AS (SELECT d__.written FROM deltic.definitions d__ WHERE d__.oid = o);
CREATE MACRO pg_get_indexdef(o) AS (SELECT d__.written FROM deltic.definitions d__ WHERE d__.oid = o),
    (o, n, p) AS (CASE WHEN n = 0 THEN (SELECT d__.written FROM deltic.definitions d__ WHERE d__.oid = o)
        ELSE (SELECT a__.attname FROM pg_catalog_.pg_index i__, pg_catalog_.pg_attribute a__
            WHERE i__.indexrelid = o AND a__.attrelid = i__.indrelid AND a__.attnum = i__.indkey[n]) END);
CREATE MACRO pg_get_ruledef(o) AS NULL, (o, p) AS NULL;
CREATE MACRO pg_get_triggerdef(o) AS NULL, (o, p) AS NULL;
CREATE MACRO pg_get_partkeydef(o) AS NULL;
CREATE MACRO pg_get_partition_constraintdef(o) AS NULL;
CREATE MACRO pg_get_statisticsobjdef_columns(o) AS NULL;
CREATE MACRO pg_get_serial_sequence(t, c) AS NULL;
CREATE MACRO pg_get_function_result(o) AS NULL;
CREATE MACRO pg_get_function_arguments(o) AS NULL;
CREATE MACRO pg_get_function_identity_arguments(o) AS NULL;
CREATE MACRO pg_get_functiondef(o) AS NULL;
CREATE MACRO pg_relation_is_publishable(o) AS false;
CREATE MACRO pg_relation_size(o) AS 0, (o, f) AS 0;
CREATE MACRO pg_total_relation_size(o) AS 0;
CREATE MACRO pg_table_size(o) AS 0;
CREATE MACRO pg_indexes_size(o) AS 0;
CREATE MACRO pg_database_size(o) AS 0;
CREATE MACRO pg_tablespace_size(o) AS 0;
CREATE MACRO pg_tablespace_location(o) AS '';
CREATE MACRO pg_size_pretty(n) AS n || ' bytes';
CREATE MACRO pg_relation_filenode(o) AS o;
CREATE MACRO pg_encoding_to_char(n) AS 'UTF8';
CREATE MACRO pg_char_to_encoding(n) AS 6;
CREATE MACRO pg_client_encoding() AS 'UTF8';
CREATE MACRO pg_is_in_recovery() AS false;
CREATE MACRO pg_is_other_temp_schema(o) AS false;
CREATE MACRO pg_my_temp_schema() AS 0;
CREATE MACRO pg_postmaster_start_time() AS now();
CREATE MACRO pg_conf_load_time() AS now();
CREATE MACRO pg_advisory_lock(n) AS NULL;
CREATE MACRO pg_advisory_unlock(n) AS true;
CREATE MACRO pg_advisory_unlock_all() AS NULL;
CREATE MACRO pg_try_advisory_lock(n) AS true;
CREATE MACRO pg_stat_get_numscans(o) AS 0;
CREATE MACRO pg_sequence_last_value(o) AS NULL;
CREATE MACRO pg_relation_is_updatable(o, p) AS 0;
CREATE MACRO pg_column_is_updatable(o, n, p) AS false;
CREATE MACRO pg_get_keywords() AS TABLE (SELECT 'subscribe' AS word, 'U' AS catcode, 'unreserved' AS catdesc);
CREATE MACRO pg_options_to_table(o) AS TABLE (SELECT '' AS option_name, '' AS option_value WHERE false);
CREATE MACRO pg_partition_ancestors(o) AS TABLE (SELECT 0 AS relid WHERE false);
CREATE MACRO pg_timezone_abbrevs() AS TABLE (SELECT 'UTC' AS abbrev);
CREATE MACRO _pg_expandarray(a) AS
    unnest(list_transform(generate_series(1, len(a)), lambda i: {'x': a[i], 'n': i}));
CREATE MACRO obj_description(o) AS (SELECT d__.description FROM pg_catalog_.pg_description d__ WHERE d__.objoid = o AND d__.objsubid = 0),
    (o, c) AS (SELECT d__.description FROM pg_catalog_.pg_description d__ WHERE d__.objoid = o AND d__.objsubid = 0);
CREATE MACRO col_description(o, n) AS (SELECT d__.description FROM pg_catalog_.pg_description d__ WHERE d__.objoid = o AND d__.objsubid = n);
CREATE MACRO shobj_description(o, c) AS NULL;
CREATE MACRO has_table_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO has_schema_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO has_column_privilege(a, b, c) AS true, (a, b, c, d) AS true;
CREATE MACRO has_any_column_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO has_database_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO has_function_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO has_sequence_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO has_tablespace_privilege(a, b) AS true, (a, b, c) AS true;
CREATE MACRO pg_has_role(a, b) AS true, (a, b, c) AS true;
CREATE MACRO to_regclass(t) AS (SELECT c__.oid FROM pg_catalog_.pg_class c__ WHERE c__.relname = regexp_replace(replace(t, '"', ''), '^.*\.', ''));
CREATE MACRO to_regtype(t) AS (SELECT y__.oid FROM pg_catalog_.pg_type y__ WHERE y__.typname = regexp_replace(replace(t, '"', ''), '^.*\.', '')
    UNION SELECT w__.oid FROM deltic.types w__ WHERE w__.written = t LIMIT 1);
CREATE MACRO to_regnamespace(t) AS (SELECT n__.oid FROM pg_catalog_.pg_namespace n__ WHERE n__.nspname = replace(t, '"', ''));
CREATE MACRO to_regproc(t) AS CAST(NULL AS UINTEGER);
CREATE MACRO current_setting(n) AS (SELECT s__.setting FROM pg_catalog_.pg_settings s__ WHERE s__.name = n);
CREATE MACRO name_of_class(o) AS coalesce((SELECT c__.relname FROM pg_catalog_.pg_class c__ WHERE c__.oid = o), CAST(o AS VARCHAR));
CREATE MACRO name_of_type(o) AS coalesce(format_type(o, -1), CAST(o AS VARCHAR));
CREATE MACRO quote_ident(t) AS CASE WHEN regexp_full_match(t, '[a-z_][a-z0-9_$]*') THEN t ELSE '"' || replace(t, '"', '""') || '"' END;
CREATE MACRO quote_literal(t) AS '''' || replace(t, '''', '''''') || '''';
CREATE MACRO array_upper(a, n) AS CASE WHEN len(a) > 0 THEN len(a) END;
CREATE MACRO array_lower(a, n) AS CASE WHEN len(a) > 0 THEN 1 END;
CREATE MACRO inet_server_addr() AS NULL;
CREATE MACRO inet_server_port() AS NULL;
CREATE MACRO inet_client_addr() AS NULL;
CREATE MACRO txid_current() AS 1;
