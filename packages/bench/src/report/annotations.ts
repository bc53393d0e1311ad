/**
 * GitHub workflow commands, which show a message at a line of a file in a pull request, or on the page
 * of the run: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
 */
import { lineOf } from "../baseline/baseline.ts";
import { type Problem, describeProblem, subjectOf } from "./outcome.ts";

/**
 * One line. Texts are escaped as the runner unescapes them, so that none can end its part or begin another.
 *
 * @param place the file is relative to the root of the repository
 */
export function annotation(
  level: Problem["level"],
  title: string,
  message: string,
  place: { readonly file?: string; readonly line?: number } = {},
): string {
  const properties = Object.entries({ ...place, title }).map(
    ([name, value]) => `${name}=${property(String(value))}`,
  );
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
    const place = baseline && line > 1 ? { file: baseline.file, line } : {};
    return annotation(level, subjectOf(problem) || "benchmarks", describeProblem(problem), place);
  });
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
