/**
 * Why a link does not open: a closed set that a page can switch on.
 *
 * - `malformed`    the text after `#` is not a link, or a part of it is missing
 * - `version`      a later version of idk made the link
 * - `key`          the key in the link does not open what the link refers to
 * - `expired`      the time of the link is over
 * - `removed`      the list of the link is not there: somebody revoked the link
 * - `missing`      a part of the content is not there
 * - `refused`      the server refused, and the link has not expired
 * - `unreachable`  no usable response: offline, the store does not allow this page (CORS), or an error
 * - `damaged`      bytes that the server sent are not those that were shared
 * - `limit`        the content is longer than the caller accepts
 * - `aborted`      the caller's signal fired
 */
export type LinkErrorCode =
  | "malformed"
  | "version"
  | "key"
  | "expired"
  | "removed"
  | "missing"
  | "refused"
  | "unreachable"
  | "damaged"
  | "limit"
  | "aborted";

/** The only error of `openLink` and of what it returns. Its message contains no part of the link; its cause may. */
export class LinkError extends Error {
  override readonly name = "LinkError";
  readonly code: LinkErrorCode;

  constructor(code: LinkErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
