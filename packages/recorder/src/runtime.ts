/** Bun, if this is it. */
export const bun: typeof Bun | undefined = typeof Bun === "undefined" ? undefined : Bun;

/** The class of responses when the recorder was loaded. Frameworks replace it by one that lacks methods. */
export const RuntimeResponse: typeof Response = Response;
