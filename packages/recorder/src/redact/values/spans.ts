import { MASK } from "../rules/actions.ts";

/** A part of a text, and what takes its place. */
export interface Span {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  readonly text: string;
}

/** Replaces spans, given in any order. Where they overlap, all of them together are masked. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let replaced = "";
  let done = 0;
  let last: Span | undefined;
  const add = ({ start, end, text: by }: Span): void => {
    replaced += text.slice(done, start) + by;
    done = end;
  };
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (last === undefined) last = span;
    else if (span.start >= last.end) {
      add(last);
      last = span;
    } else if (span.end > last.end) last = { start: last.start, end: span.end, text: MASK };
  }
  if (last !== undefined) add(last);
  return replaced + text.slice(done);
}
