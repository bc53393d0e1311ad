/**
 * GitHub workflow commands, which show a message at a line of a file in a pull request, or on the page
 * of the run: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
 */
import { lineOf } from "../baseline/baseline.ts";
import { type Problem, describeProblem, subjectOf } from "./outcome.ts";

export interface Annotation {
  readonly level: Problem["level"];
  readonly title: string;
  readonly message: string;
  /** Relative to the root of the repository. */
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

/** One line. Texts are escaped as the runner unescapes them, so that none can end its part or begin another. */
export function annotation({ level, title, message, file, line }: Annotation): string {
  const properties = Object.entries({ file, line, title })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${property(String(value))}`);
  return `::${level === "failure" ? "error" : "warning"} ${properties.join(",")}::${data(message)}`;
}

/** @param baseline the committed baseline; problems with values in it point there */
export function annotationsOf(
  problems: readonly Problem[],
  baseline?: { readonly file: string; readonly text: string },
): string[] {
  return problems.map((problem) => {
    const { level, suite, target } = problem;
    const line = baseline && suite && target ? lineOf(baseline.text, suite, target.name) : 1;
    const place = line > 1 ? { file: baseline?.file, line } : {};
    const title = subjectOf(problem) || "benchmarks";
    return annotation({ level, title, message: describeProblem(problem), ...place });
  });
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
