export { LinkError, type LinkErrorCode } from "./errors.ts";
export { type OpenedLink, openLink, type OpenOptions } from "./open.ts";
