declare module "har-schema" {
  /** JSON schemas (draft 06) by their names. */
  const schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  // oxlint-disable-next-line import/no-default-export -- as the package has it
  export default schemas;
}
