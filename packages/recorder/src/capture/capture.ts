import type { Header } from "../record/exchange.ts";
import type { FinishedExchange } from "../options.ts";
import type { BodyCopy } from "./body-copy.ts";

/** A request as it began. */
export interface CapturedRequest {
  readonly method: string;
  readonly url: string;
  readonly http?: string | undefined;
  readonly headers: readonly Header[];
}

/** A response as it was sent. */
export interface CapturedResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly Header[];
}

interface ExchangeStart {
  readonly direction: "in" | "out";
  /** Its number in the run, from 0. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly request: CapturedRequest;
  /** Bytes taken from the budget, without those of bodies. */
  readonly reserved: number;
}

/** An exchange that began and is not over. */
export interface OpenExchange extends ExchangeStart {
  /** Milliseconds, by the monotonic clock. */
  readonly startedAt: number;
  requestBody: BodyCopy | undefined;
  responseBody: BodyCopy | undefined;
  /** It has ended, so a body that begins now would be given back by nobody. */
  over: boolean;
  /** How far it got. May throw, because it asks objects of the application. */
  readonly progress: () => ExchangeProgress;
}

/** What an exchange has, beside its request and its bodies. */
export interface ExchangeProgress {
  readonly response?: CapturedResponse | undefined;
  readonly route?: string | undefined;
}

/** Why an exchange did not end in order. */
export type ExchangeEnd = FinishedExchange["ended"];

/** An exchange that is over, before redaction. Does not refer to objects of the application. */
export interface CapturedExchange extends ExchangeStart, ExchangeProgress {
  readonly ms: number;
  readonly ended: ExchangeEnd;
  readonly requestBody: BodyCopy | undefined;
  readonly responseBody: BodyCopy | undefined;
}

/** What the ways to capture hand exchanges to. Nothing of it throws. */
export interface Capture {
  /**
   * @param progress called once, when the exchange ends or the recorder is closed
   * @returns undefined if the exchange is dropped, or the recorder is closed
   */
  begin(
    direction: "in" | "out",
    request: CapturedRequest,
    progress: () => ExchangeProgress,
  ): OpenExchange | undefined;
  /** A copy of a body that is about to pass. */
  body(): BodyCopy;
  /** Ends an exchange, the first time it is called for it. */
  finish(exchange: OpenExchange, ended?: ExchangeEnd): void;
  /** Runs code beside the application's; if it throws, that is a fault of the recorder. */
  aside(work: () => void): void;
}
