export { createLink, type CreatedLink, type CreateOptions } from "./create.ts";
export { LinkError, type LinkErrorCode } from "./errors.ts";
export { LINK_MAX } from "./fragment.ts";
export { EXPIRES_MAX } from "./place.ts";
