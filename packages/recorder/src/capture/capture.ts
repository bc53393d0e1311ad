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

/** An exchange that began and is not over. */
export interface OpenExchange {
  readonly direction: "in" | "out";
  /** Its number in the run, from 0. */
  readonly number: number;
  /** Milliseconds since 1970, and by the monotonic clock. */
  readonly time: number;
  readonly startedAt: number;
  readonly request: CapturedRequest;
  requestBody: BodyCopy | undefined;
  responseBody: BodyCopy | undefined;
  /** Bytes taken from the budget, without those of bodies. */
  readonly reserved: number;
  /** It has ended, so a body that begins now would be given back by nobody. */
  over: boolean;
  readonly current: () => ExchangeEnd;
}

/** How an exchange ended. */
export interface ExchangeEnd {
  readonly response?: CapturedResponse | undefined;
  readonly route?: string | undefined;
  readonly ended?: FinishedExchange["ended"];
}

/** An exchange that is over, before redaction. */
export interface CapturedExchange extends OpenExchange, ExchangeEnd {
  readonly ms: number;
}

/** What the ways to capture hand exchanges to. Nothing of it throws. */
export interface Capture {
  /**
   * @param current how the exchange would end now, for a recorder that is closed before it is over
   * @returns undefined if the exchange is dropped, or the recorder is closed
   */
  begin(
    direction: "in" | "out",
    request: CapturedRequest,
    current: () => ExchangeEnd,
  ): OpenExchange | undefined;
  /** A copy of a body that is about to pass. */
  body(): BodyCopy;
  /** Ends an exchange, the first time it is called for it. */
  finish(exchange: OpenExchange, end: ExchangeEnd): void;
  /** Runs code beside the application's; if it throws, that is a fault of the recorder. */
  aside(work: () => void): void;
}
