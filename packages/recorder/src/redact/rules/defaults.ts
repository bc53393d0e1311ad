/*
 * What is redacted without any rule, as patterns for normalized names. They rather cover too much: a
 * name that contains `token` may be a count, and is covered all the same.
 */

/** Headers of which only the scheme stays. */
export const AUTHORIZATION_HEADERS: readonly string[] = ["*authorization"];

export const COOKIE_HEADERS: readonly string[] = ["cookie", "cookie2", "setcookie", "setcookie2"];

const API_KEYS: readonly string[] = [
  "*apikey*",
  "*accesskey*",
  "*authkey*",
  "*privatekey*",
  "*subscriptionkey",
  "*functionskey",
];

export const API_KEY_HEADERS: readonly string[] = [...API_KEYS, "xauth", "xkey"];

const SECRETS: readonly string[] = [
  "*password*",
  "*passwd*",
  "*passphrase*",
  "*passcode*",
  "*pwd*",
  "*secret*",
  "*token*",
  "*session*",
  "*credential*",
  "*cvv*",
  "cvc*",
  "*cvc",
  "*securitycode*",
  "*csrf*",
  "*xsrf*",
  // As whole names, because many words contain them.
  "auth",
  "jwt",
  "otp",
  "totp",
  "pass",
  "pin",
  "pincode",
  // Not in the middle, because of `className`.
  "ssn*",
  "*ssn",
  "*socialsecurity*",
];

/** Headers named like secrets. */
export const SECRET_HEADERS: readonly string[] = SECRETS;

/** Parameters and members named like secrets, or like headers that are. */
export const SECRET_MEMBERS: readonly string[] = [
  ...SECRETS,
  ...API_KEYS,
  ...AUTHORIZATION_HEADERS,
  ...COOKIE_HEADERS,
];

/** Parameters with which whoever has the URL has the right to what it names. */
export const SIGNING_PARAMETERS: readonly string[] = [
  // Amazon S3, Google Cloud Storage, and what imitates them.
  "*signature",
  "xamzcredential",
  "xgoogcredential",
  "awsaccesskeyid",
  "ossaccesskeyid",
  "googleaccessid",
  // Azure.
  "sig",
  // CloudFront.
  "policy",
  "keypairid",
  // Akamai.
  "hdnea",
  "hdnts",
];

/** Schemes of `Authorization`. Anything else before a space may be a secret itself. */
export const AUTHORIZATION_SCHEMES: ReadonlySet<string> = new Set([
  "apikey",
  "aws",
  "aws4-ecdsa-p256-sha256",
  "aws4-hmac-sha256",
  "basic",
  "bearer",
  "concealed",
  "digest",
  "dpop",
  "gnap",
  "hawk",
  "hoba",
  "mutual",
  "negotiate",
  "ntlm",
  "oauth",
  "privatetoken",
  "scram-sha-1",
  "scram-sha-256",
  "sharedkey",
  "signature",
  "token",
  "vapid",
]);

const FLAG = /^$/u;

/** What `Set-Cookie` says about a cookie, besides its value, and all that it may say. */
export const COOKIE_ATTRIBUTES: ReadonlyMap<string, RegExp> = new Map([
  ["domain", /^[\w.:-]*$/u],
  ["expires", /^[a-z]{3,9}, \d\d[ -][a-z]{3}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/iu],
  ["httponly", FLAG],
  ["max-age", /^-?\d{1,12}$/u],
  ["partitioned", FLAG],
  ["path", /^[\w/.~%!$()*+:@-]*$/u],
  ["priority", /^(?:low|medium|high)$/iu],
  ["samesite", /^(?:lax|none|strict)$/iu],
  ["secure", FLAG],
]);
