/**
 * S3's error codes with their HTTP status and the message to send if there is nothing more exact to
 * say. The messages are Amazon's own, because clients and their tests compare them.
 */
export const S3_ERRORS = {
  AccessDenied: [403, "Access Denied."],
  AuthorizationHeaderMalformed: [400, "The authorization header that you provided is not valid."],
  AuthorizationQueryParametersError: [
    400,
    "The authorization query parameters that you provided are not valid.",
  ],
  BadDigest: [
    400,
    "The Content-MD5 or checksum value that you specified did not match what the server received.",
  ],
  BadRequest: [400, "Bad request."],
  BucketAlreadyExists: [
    409,
    "The requested bucket name is not available. The bucket namespace is shared by all users of the system. Please select a different name and try again.",
  ],
  BucketAlreadyOwnedByYou: [
    409,
    "Your previous request to create the named bucket succeeded and you already own it.",
  ],
  BucketNotEmpty: [409, "The bucket you tried to delete is not empty."],
  ConditionalRequestConflict: [
    409,
    "A conflicting operation occurred while this request was in progress. Try again.",
  ],
  EntityTooLarge: [400, "Your proposed upload exceeds the maximum allowed object size."],
  EntityTooSmall: [400, "Your proposed upload is smaller than the minimum allowed size"],
  IllegalLocationConstraintException: [400, "The location constraint does not fit the endpoint."],
  IncompleteBody: [
    400,
    "You did not provide the number of bytes specified by the Content-Length HTTP header",
  ],
  InternalError: [500, "We encountered an internal error, please try again."],
  InvalidAccessKeyId: [403, "The AWS Access Key Id you provided does not exist in our records."],
  InvalidArgument: [400, "Invalid argument."],
  InvalidBucketName: [400, "The specified bucket is not valid."],
  InvalidChunkSizeError: [
    400,
    "Only the last chunk is allowed to have a size less than 8192 bytes",
  ],
  InvalidDigest: [400, "The Content-Md5 you specified is not valid."],
  InvalidLocationConstraint: [400, "The specified location-constraint is not valid"],
  InvalidObjectState: [403, "The operation is not valid for the current state of the object."],
  InvalidPart: [
    400,
    "One or more of the specified parts could not be found.  The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.",
  ],
  InvalidPartNumber: [416, "The requested partnumber is not satisfiable."],
  InvalidPartOrder: [
    400,
    "The list of parts was not in ascending order. Parts must be ordered by part number.",
  ],
  InvalidRange: [416, "The requested range is not satisfiable"],
  InvalidRedirectLocation: [
    400,
    "The website redirect location must have a prefix of 'http://' or 'https://' or '/'.",
  ],
  InvalidRequest: [400, "The request is not valid."],
  InvalidStorageClass: [400, "The storage class that you specified is not valid."],
  InvalidTag: [400, "The tag that you provided is not valid."],
  InvalidToken: [400, "The provided token is malformed or otherwise invalid."],
  InvalidURI: [400, "The specified URI couldn't be parsed."],
  KeyTooLongError: [400, "Your key is too long."],
  MalformedTrailerError: [
    400,
    "The request contained trailing data that was not well-formed or did not conform to our published schema.",
  ],
  MalformedXML: [
    400,
    "The XML you provided was not well-formed or did not validate against our published schema.",
  ],
  MaxMessageLengthExceeded: [400, "Your request was too big."],
  MetadataTooLarge: [400, "Your metadata headers exceed the maximum allowed metadata size"],
  MethodNotAllowed: [405, "The specified method is not allowed against this resource."],
  MissingContentLength: [411, "You must provide the Content-Length HTTP header."],
  MissingRequestBodyError: [400, "Request Body is empty"],
  NoSuchBucket: [404, "The specified bucket does not exist."],
  NoSuchBucketPolicy: [404, "The bucket policy does not exist."],
  NoSuchCORSConfiguration: [404, "The CORS configuration does not exist"],
  NoSuchKey: [404, "The specified key does not exist."],
  NoSuchLifecycleConfiguration: [404, "The lifecycle configuration does not exist."],
  NoSuchPublicAccessBlockConfiguration: [
    404,
    "The public access block configuration was not found.",
  ],
  NoSuchTagSet: [404, "The TagSet does not exist."],
  NoSuchUpload: [
    404,
    "The specified multipart upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
  ],
  NoSuchVersion: [404, "The specified version does not exist."],
  NotImplemented: [501, "A header you provided implies functionality that is not implemented."],
  NotModified: [304, "Not Modified."],
  ObjectLockConfigurationNotFoundError: [
    404,
    "Object Lock configuration does not exist for this bucket.",
  ],
  OperationAborted: [
    409,
    "A conflicting operation is in progress against this resource. Try again.",
  ],
  OwnershipControlsNotFoundError: [404, "The bucket ownership controls were not found."],
  PreconditionFailed: [412, "At least one of the pre-conditions you specified did not hold."],
  ReplicationConfigurationNotFoundError: [404, "The replication configuration was not found."],
  RequestHeaderSectionTooLarge: [
    400,
    "Your request header section exceeds the maximum allowed size.",
  ],
  RequestTimeout: [400, "The client did not send or read data within the timeout."],
  RequestTimeTooSkewed: [
    403,
    "The difference between the request time and the current time is too large.",
  ],
  ServerSideEncryptionConfigurationNotFoundError: [
    404,
    "The server-side encryption configuration was not found.",
  ],
  ServiceUnavailable: [503, "The service is unavailable. Try again."],
  SignatureDoesNotMatch: [
    403,
    "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
  ],
  SlowDown: [503, "Please reduce your request rate."],
  TooManyBuckets: [400, "You have attempted to create more buckets than allowed."],
  UnsupportedArgument: [400, "The request contained an argument that is not supported."],
  XAmzContentSHA256Mismatch: [
    400,
    "The provided 'x-amz-content-sha256' header does not match what was computed.",
  ],
} as const satisfies Readonly<Record<string, readonly [status: number, message: string]>>;

/** A code of S3, as clients switch on it. */
export type S3ErrorCode = keyof typeof S3_ERRORS;

/** What an `S3Error` carries besides code and message. */
export interface S3ErrorOptions {
  /** For logs only: never sent. Kept as `cause`. */
  readonly cause?: unknown;
  /**
   * More elements of the error document by name, such as `ArgumentName`. Sent to the client, so
   * never a secret.
   */
  readonly details?: Readonly<Record<string, string | number>>;
  /** True if the rest of the request's body cannot be read: the connection has to be closed. */
  readonly closesConnection?: boolean;
}

/** An answer other than success, to be thrown anywhere. Its message is sent to the client. */
export class S3Error extends Error {
  override readonly name = "S3Error";
  readonly code: S3ErrorCode;
  /** The HTTP status. */
  readonly status: number;
  readonly details: Readonly<Record<string, string | number>>;
  readonly closesConnection: boolean;

  /** @param message in place of the code's own, for one request; never a secret */
  constructor(code: S3ErrorCode, message?: string, options: S3ErrorOptions = {}) {
    const [status, text] = S3_ERRORS[code];
    super(message ?? text, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = status;
    this.details = options.details ?? {};
    this.closesConnection = options.closesConnection ?? false;
  }
}
