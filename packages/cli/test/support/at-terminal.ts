import { fileURLToPath } from "node:url";

const driver = fileURLToPath(new URL("./at-terminal.py", import.meta.url));

/** An action to take when some output appears; see at-terminal.py. */
export interface Step {
  /** A Python pattern, matched against the output since the last step. */
  readonly shown: string;
  readonly columns?: number;
  readonly type?: string;
}

/** Types one text at each prompt. */
export function answering(typed: readonly string[]): Step[] {
  return typed.map((type) => ({ shown: String.raw`: \Z`, type }));
}

/** Runs a program in its own terminal. Returns the screen output and the exit code. */
export async function atTerminal(
  steps: readonly Step[],
  command: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Record<string, string | undefined> },
): Promise<{ readonly screen: string; readonly code: number }> {
  const child = Bun.spawn(["python3", driver, JSON.stringify(steps), ...command], {
    cwd,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const screen = await new Response(child.stdout).text();
  return { screen, code: await child.exited };
}
