import type { Environment } from "../../suite.ts";

const PYTHON = "IDK_REFERENCE_PYTHON";

/** The path of a Python that has boto3. */
export function pythonFrom(env: Environment): string {
  return env[PYTHON] ?? "";
}

/** What to do if there is none. */
export function missingPython(env: Environment): string | undefined {
  if (pythonFrom(env) !== "") return undefined;
  return `${PYTHON} not set: run script/python run script/minio run script/idk bench gateway`;
}
