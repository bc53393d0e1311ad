import type { Command } from "../command.ts";

/**
 * A command whose `--catalog` and `--credentials` may come from the environment: the URL of a database has
 * a password, which everybody on a machine can see in a command line.
 */
export function withCatalogVariable(run: Command): Command {
  return async (invocation, session) => {
    const { env, options } = invocation;
    const variables = {
      ...(env["IDK_CATALOG"] && { catalog: env["IDK_CATALOG"] }),
      ...(env["IDK_CREDENTIALS"] && { credentials: env["IDK_CREDENTIALS"] }),
    };
    await run({ ...invocation, options: { ...variables, ...options } }, session);
  };
}
