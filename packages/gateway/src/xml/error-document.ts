import { DECLARATION, Xml, xml } from "./write.ts";
import type { S3Error } from "../errors.ts";

/** What an error document names besides the error. */
export interface ErrorContext {
  /** The path of the request, as sent. */
  readonly resource: string;
  readonly requestId: string;
  readonly hostId: string;
}

/** The body of an answer that failed. Never contains the error's cause. */
export function errorDocument(error: S3Error, context: ErrorContext): string {
  const details = Object.entries(error.details).map(
    // Names come from this code, values may come from outside.
    ([name, value]) => new Xml(`<${name}>${xml`${value}`.markup}</${name}>`),
  );
  const document = xml`<Error><Code>${error.code}</Code><Message>${error.message}</Message>${details}<Resource>${context.resource}</Resource><RequestId>${context.requestId}</RequestId><HostId>${context.hostId}</HostId></Error>`;
  return DECLARATION + document.markup;
}
