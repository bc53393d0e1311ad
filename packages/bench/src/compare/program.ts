export interface Program {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Standard input, by default empty. */
  readonly input?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Runs a program to its end.
 *
 * @returns its standard output
 * @throws the signal's reason; Error with the program's output if it fails
 */
export async function output({ argv, cwd, input = "", signal }: Program): Promise<string> {
  signal.throwIfAborted();
  const child = Bun.spawn([...argv], {
    cwd,
    env: ownEnvironment(),
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
    signal,
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  signal.throwIfAborted();
  if (code !== 0) throw new Error((stderr.trim() || stdout.trim() || `exit code ${code}`).trim());
  return stdout;
}

/** Without GIT_ variables, which hooks set and which redirect git to another repository. */
export function ownEnvironment(): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return Object.fromEntries(inherited);
}
