/** Bun, if this is it. */
export const bun: typeof Bun | undefined = typeof Bun === "undefined" ? undefined : Bun;
