/** Names in SQL text. What users give is taken as it is written, upper and lower case kept. */

/** `order` → `"order"`. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** `public.orders` → `"public"."orders"`; at most one dot separates schema and table. */
export function quotedTable(table: string): string {
  const [schema, name] = schemaAndName(table);
  return schema === null ? quoted(name) : `${quoted(schema)}.${quoted(name)}`;
}

export function schemaAndName(table: string): readonly [schema: string | null, name: string] {
  const dot = table.indexOf('.');
  return dot < 0 ? [null, table] : [table.slice(0, dot), table.slice(dot + 1)];
}

/** A literal for statements that take no parameters, such as COMMIT PREPARED. */
export function literal(text: string): string {
  // The names that stand in literals are ours; a backslash would need another syntax.
  if (text.includes('\\')) throw new Error(`no name of this sink: ${text}`);
  return `'${text.replaceAll("'", "''")}'`;
}
