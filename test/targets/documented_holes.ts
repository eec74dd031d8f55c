/** A hole that the authors of an application name. */
export interface Hole {
  /** The words of the authors, shortened. */
  name: string;
  /** The family and operation of the finding that shows it; null with the reason in `missed`. */
  found: RegExp | null;
  missed?: string;
  /** Why no request of two ordinary logins can show it, so that it does not count. */
  unseen?: string;
}

/** All holes that the authors of one application list, in their order. */
export interface Documented {
  /** The page of the authors. */
  source: string;
  holes: Hole[];
}

const BROWSER = "it shows in a browser only";
const STORED = "it shows in the database only";
const SOURCE = "it shows in the source only";
const NOT_NAMED = "the document does not name the operation";
const OTHER_LOGIN = "only another kind of login may call it";
const NOT_STARTED = "this part was not started: its library was not to be had";
const ABSENT = "this version does not have it";
const MODEL = "no language model was started";
const TEN = "the service answers ten requests in three hours, and others came first";
const NO_RULE = "no rule says what is right";
const GUESSED = "numbers are not compared with each other";

const found = (name: string, pattern: RegExp): Hole => ({ name, found: pattern });
const missed = (name: string, why: string): Hole => ({ name, found: null, missed: why });
const unseen = (name: string, why: string): Hole => ({ name, found: null, unseen: why });

/** The holes by application: every line of the authors' lists, none of ours. */
export const HOLES: Record<string, Documented> = {
  "VAmPI": {
    source: "README.md, List of Vulnerabilities",
    holes: [
      found("SQLi Injection", /^sql_injection GET \/users\/v1\/\{username\}/),
      found("Unauthorized Password Change", /^foreign_value PUT .*\/password/),
      found("Broken Object Level Authorization", /^foreign_record GET \/books/),
      found("Mass Assignment", /^granted_on_create POST .*register/),
      found("Excessive Data Exposure through debug endpoint", /^secrets_shown GET .*_debug/),
      found("User and Password Enumeration", /^user_enumeration POST .*login/),
      found("RegexDOS", /^slow_pattern PUT .*email/),
      found("Lack of Resources & Rate Limiting", /^login_limit POST .*login/),
      found("JWT authentication bypass via weak signing key", /^forged_token_weak_key/),
    ],
  },
  "vuln-bank": {
    source: "README.md, Implemented Vulnerabilities",
    holes: [
      found("1 SQL Injection in login", /^sql_injection POST \/login/),
      found("1 Weak JWT implementation", /^forged_token_signature/),
      found("1 Broken object level authorization", /^foreign_value GET \/check_balance/),
      found("1 Broken object property level authorization", /^secrets_shown GET .*virtual-cards/),
      found("1 Mass Assignment & Excessive Data Exposure", /^granted_on_create POST \/register/),
      found("1 Weak password reset mechanism (3-digit PIN)", /^code_limit POST .*reset-password/),
      unseen("1 Token stored in localStorage", BROWSER),
      unseen("1 No server-side token invalidation", "the document names no logout"),
      found("1 No session expiration", /^forged_token_endless/),
      found("2 Information disclosure", /^secrets_shown POST .*merchants\/register/),
      found("2 Sensitive data exposure", /^secrets_shown POST .*virtual-cards\/create/),
      unseen("2 Plaintext password storage", STORED),
      found("2 SQL injection points", /^sql_injection GET \/transactions/),
      found("2 Debug information exposure", /^secrets_shown POST \/register/),
      found("2 Detailed error messages exposed", /^leaking_message/),
      found("3 No amount validation", /^zero_amount POST \/transfer/),
      found("3 Negative amount transfers possible", /^negative_amount POST \/transfer/),
      missed("3 No transaction limits", NO_RULE),
      found("3 Race conditions in transfers and balance updates", /^spend_race POST \/transfer/),
      found("3 Transaction history information disclosure", /^foreign_value GET \/transactions/),
      found("3 No validation on recipient accounts", /^unknown_recipient POST \/transfer/),
      found("4 Unrestricted file upload", /^page_as_picture POST \/upload/),
      unseen("4 Path traversal vulnerabilities", ABSENT),
      found("4 No file type validation", /^page_as_picture POST \/upload/),
      unseen("4 Directory traversal", ABSENT),
      missed("4 No file size limits", "large files are not sent"),
      missed("4 Unsafe file naming", "the address of an upload is not asked for"),
      found("4 Server-Side Request Forgery", /^call_back POST \/upload_profile_picture_url/),
      found("5 Token vulnerabilities", /^forged_token_signature/),
      found("5 No session expiration", /^forged_token_endless/),
      found("5 Weak secret keys", /^forged_token_weak_key/),
      unseen("5 Token exposure in URLs", "no operation of the document has a token in its address"),
      unseen("6 Cross Site Scripting", BROWSER),
      unseen("6 Cross Site Request Forgery", BROWSER),
      found("6 Insecure direct object references", /^foreign_value GET \/check_balance/),
      found("6 No rate limiting", /^login_limit POST \/login/),
      missed("7 Mass Assignment in card limit updates", "the documented request is answered 500"),
      missed("7 Mass Assignment in card funding", NOT_NAMED),
      missed("7 Predictable card number generation", GUESSED),
      unseen("7 Plaintext storage of card details", STORED),
      found("7 No validation on card limits", /^negative_amount POST .*virtual-cards\/create/),
      found("7 BOLA in card operations", /^foreign_value POST .*toggle-freeze/),
      missed("7 Race conditions in balance updates", NOT_NAMED),
      found("7 Card detail information disclosure", /^secrets_shown GET .*virtual-cards/),
      missed("7 No transaction verification", NO_RULE),
      unseen("7 Lack of card activity monitoring", SOURCE),
      missed("7 Client-controlled currency conversion", NOT_NAMED),
      found("8 No validation on payment amounts", /^negative_amount POST .*bill-payments/),
      unseen("8 SQL injection in biller queries", ABSENT),
      missed("8 Information disclosure in payment history", NO_RULE),
      found("8 Predictable reference numbers", /^foreseen_number POST .*bill-payments/),
      missed("8 Transaction history exposure", NO_RULE),
      missed("8 No validation on biller accounts", "an unknown biller was refused"),
      found("8 Race conditions in payment processing", /^spend_race POST .*bill-payments/),
      unseen("8 BOLA in payment history access", ABSENT),
      missed("8 Missing payment limits", NO_RULE),
      unseen("9 Plaintext merchant passwords and API keys", STORED),
      found("9 API keys returned in answers", /^secrets_shown POST .*merchants\/register/),
      unseen("9 Raw card number/CVV accepted", OTHER_LOGIN),
      found("9 SQL injection-prone merchant lookups", /^sql_injection POST .*merchants\/login/),
      found("9 Missing idempotency and rate limiting", /^login_limit POST .*merchants\/login/),
      unseen("9 Object-level gaps in payment lookup", OTHER_LOGIN),
      found("9 Debug data exposure", /^leaking_message/),
      unseen("9 Predictable authorization code generation", OTHER_LOGIN),
      missed("10 Prompt Injection", TEN),
      unseen("10 AI-based Information Disclosure", MODEL),
      unseen("10 Broken Authorization in AI context", MODEL),
      found("10 AI System Information Exposure", /^secrets_shown GET .*ai\/system-info/),
      missed("10 Insufficient Input Validation for AI prompts", TEN),
      unseen("10 Direct Database Access through AI", MODEL),
      missed("10 AI Role Override attacks", TEN),
      unseen("10 Context Injection", MODEL),
      unseen("10 AI-assisted unauthorized data access", MODEL),
      found("10 Exposed AI system prompts", /^secrets_shown GET .*ai\/system-info/),
      found("11 GraphQL schema introspection", /^graph_schema POST \/graphql/),
      missed("11 Weak JWT inherited by GraphQL", NOT_NAMED),
      missed("11 SQL injection in GraphQL resolver", NOT_NAMED),
      missed("11 Missing GraphQL depth controls", NOT_NAMED),
      missed("11 Raw GraphQL error disclosure", NOT_NAMED),
      missed("11 Analytics through admin-scoped queries", NOT_NAMED),
    ],
  },
  "RESTaurant": {
    source: "app/tests/vulns, one file for each level",
    holes: [
      found("0 technology details in a header", /^warning CWE-200 GET \/healthcheck/),
      found("1 unrestricted menu item deletion", /^uneven_rights DELETE \/menu/),
      found("2 unrestricted profile update", /^foreign_field PUT \/profile/),
      found("3 privilege escalation", /^own_role PUT \/users\/update_role/),
      unseen("4 server-side request forgery", OTHER_LOGIN),
      unseen("5 remote code execution", OTHER_LOGIN),
    ],
  },
  "vAPI": {
    source: "README.md, Known vulnerabilities",
    holes: [
      unseen("1 Insecure transport", "whoever starts it chooses the transport"),
      found("2 User enumeration", /^user_enumeration POST \/tokens/),
      found("3 Information disclosure", /^secrets_shown GET \/user/),
      found("4 Authentication bypass", /^sql_injection POST \/tokens/),
      // The bodies are checked against the document, the flag of the command line is not.
      found("5 No input validation", /^text_nul GET \/uptime/),
      found("6 SQL injection", /^sql_injection GET \/user/),
      missed("8 Weak session token crypto", GUESSED),
      missed("9 Poor session validation", "a run is shorter than a session"),
      found("10 Plaintext storage of secrets", /^secrets_shown GET \/user/),
      found("11 Command injection", /^text_command GET \/uptime/),
      found("12 Regex denial of service", /^slow_pattern POST \/widget/),
      missed("13 Cross Site Scripting", "no answer is a page"),
      missed("14 XML XXE and billion laughs", "the document names no XML"),
      missed("15 Missing security headers", "headers of pages are not judged"),
    ],
  },
  "vulnapi": {
    source: "SOLUTION.md",
    holes: [
      unseen("Hardcoded JWT signing key in source code", SOURCE),
      found("Weak JWT signing key", /^forged_token_weak_key/),
      unseen("Hardcoded Bcrypt salt", STORED),
      unseen("Mass assignment in /me/notifications", "the handler fails with 500 for everybody"),
      missed("Insecure YAML deserialization in /bulk", "the document names no YAML"),
      found("SQL injection in /bank_codes", /^sql_injection GET \/bank_codes/),
      found("IDOR, data exposure in /bank_codes", /^sql_injection GET \/bank_codes/),
      found("LFI in /exchangerate", /^text_traversal GET \/exchangerate/),
      found("SSRF in /currentexchangerate", /^call_back GET \/currentexchangerate/),
      found("SSTI in /greeter", /^text_template GET \/greeter/),
      missed("Data exposure by TRACE to hidden addresses", NOT_NAMED),
      missed("Some endpoints are missing authentication", NO_RULE),
    ],
  },
  "API Security Dojo": {
    source: "README.md, Vulnerabilities",
    holes: [
      found("V01 Broken Object Level Authorization", /^foreign_value PUT \/api\/users/),
      found("V02 Broken Authentication", /^user_enumeration/),
      found("V03 Excessive Data Exposure", /^auth_missing GET \/api\/users/),
      found("V04 Lack of Rate Limiting", /^login_limit/),
      missed("V05 Mass Assignment", "the document offers the role itself"),
      found("V06 SQL Injection", /^sql_injection GET \/api\/products/),
      found("V07 Command Injection", /^field_command POST .*ping/),
      found("V08 Security Misconfiguration", /^secrets_shown GET .*debug/),
      found("V09 Improper Assets Management", /^secrets_shown GET \/api\/v1\/users/),
      unseen("V10 Insufficient Logging", SOURCE),
      ...["Introspection Exposed", "Nested Queries", "Batching", "Field Suggestions", "Bypass"]
        .map((name, n) => unseen(`G0${n + 1} GraphQL: ${name}`, NOT_STARTED)),
    ],
  },
  "Security Vulnerability Lab": {
    source: "README.md, The eight vulnerabilities",
    holes: [
      found("1 SQL injection (login & signup)", /^sql_injection POST \/login/),
      unseen("2 Stored XSS", BROWSER),
      missed("3 Reflected XSS (search)", "the document does not name the parameter"),
      unseen("4 Session hijacking", SOURCE),
      unseen("5 Weak password storage", STORED),
      found("6 Exposed database download", /^secrets_shown GET \/download\/db/),
      found("7 No rate limiting", /^login_limit POST \/login/),
      unseen("8 CSRF", BROWSER),
    ],
  },
  "Websheep, access": {
    source: "src/app/authz1, the exercise",
    holes: [found("a farmer reads the sheep of another", /^foreign_value GET .*sheep/)],
  },
  "Websheep, tokens": {
    source: "src/app/jwt1, the exercise",
    holes: [found("tokens are decoded and not verified", /^forged_token/)],
  },
  "Radware": {
    source: "README.md, the numbered table of vulnerabilities",
    holes: [
      found("1.1 view the profile of another", /^foreign_value GET \/api\/users\/\{userId\}$/),
      found("1.2 update the profile of another", /^foreign_\w+ PUT \/api\/users\/\{userId\}$/),
      found("1.3 list the addresses of another", /^foreign_value GET .*\/addresses$/),
      found("1.4 create an address for another", /^foreign_\w+ POST .*\/addresses$/),
      found("1.5 update an address of another", /^foreign_\w+ PUT .*\/addresses\//),
      found("1.6 delete an address of another", /^foreign_record DELETE .*\/addresses\//),
      found("1.7 list the cards of another", /^foreign_value GET .*\/credit-cards$/),
      found("1.8 create a card for another", /^foreign_\w+ POST .*\/credit-cards$/),
      found("1.9 update a card of another", /^foreign_\w+ PUT .*\/credit-cards\//),
      found("1.10 delete a card of another", /^foreign_\w+ DELETE .*\/credit-cards\//),
      found("1.11 list the orders of another", /^foreign_value GET .*\/orders$/),
      found("1.12 read an order of another", /^foreign_record GET .*\/orders\/\{orderId\}$/),
      unseen("1.13 order for another", ABSENT),
      found("1.14 order to the address of another", /^foreign_reference POST .*\/orders$/),
      found("1.15 order with the card of another", /^foreign_reference POST .*\/orders$/),
      found("2.1 become an administrator", /^own_role PUT \/api\/users/),
      missed("2.2 set the internal status of a product", NOT_NAMED),
      missed("3.1 create a product as an ordinary user", NO_RULE),
      missed("3.2 delete a product as an ordinary user", NO_RULE),
      missed("3.3 change the stock as an ordinary user", NO_RULE),
      found("3.4 delete any user", /^foreign_record DELETE \/api\/users\/\{userId\}$/),
      missed("3.5 list all users as an ordinary user", NO_RULE),
      unseen("4.1 the key is in the code", SOURCE),
      unseen("5.1 injection in the search", ABSENT),
    ],
  },
  "Zero-Health": {
    source: "challenges.md",
    holes: [
      unseen("1 Reflected XSS", BROWSER),
      found("2 SQL Injection, authentication bypass", /^sql_injection POST \/api\/login/),
      missed("3 IDOR on lab results", NOT_NAMED),
      missed("4 Reflected XSS in the search", NOT_NAMED),
      missed("5 File upload bypass", NOT_NAMED),
      unseen("6 Stored XSS", BROWSER),
      found("7 JWT token manipulation", /^auth_garbage POST \/api\/chatbot/),
      unseen("8 SQL injection through the chatbot", MODEL),
      missed("9 Parameter pollution", NOT_NAMED),
      missed("10 Rate limit bypass", NOT_NAMED),
      unseen("11 Prompt injection", MODEL),
      unseen("12 XXE", NOT_STARTED),
      unseen("13 Command injection in reports", OTHER_LOGIN),
      missed("14 Mass assignment", NOT_NAMED),
      found("15 Chain that begins with /api/info", /^secrets_shown GET \/api\/info/),
      missed("16 File upload to code execution", NOT_NAMED),
      ...["17 Realistic attack", "18 Unknown hole", "19 Attack chain", "20 Unknown hole"]
        .map((name) => unseen(name, "it names no hole")),
    ],
  },
};
