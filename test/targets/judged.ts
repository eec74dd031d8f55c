import type { Finding } from "../../cli/scenario/schema.ts";

/** The judgement of one finding: what was looked at, and whether it is right. */
export interface Judgement {
  is: "true" | "false" | "not judged";
  why: string;
}

type Row = [finding: RegExp, is: "true" | "false", why: string];

/** Crashes were compared with the application's own log: each line had an exception. */
const CRASHES: Row[] = [
  [/^body_deep /, "true", "the parser's recursion ends in a 5xx, or ends the process"],
  [/^(text_nul|field_control) /, "true", "the NUL reaches the database, whose error becomes a 500"],
  [/^(number_huge|field_huge) /, "true", "the number does not fit the column, which becomes a 500"],
  [/^field_surrogate /, "true", "the lone surrogate cannot be encoded, which becomes a 500"],
];
const LIMIT: Row = [
  /^login_limit /,
  "true",
  "the code has no counter; 20 wrong passwords were read",
];
const ENUMERATION: Row = [/^user_enumeration /, "true", "the two messages differ in the code"];
const PATTERN: Row = [
  /^slow_pattern /,
  "true",
  "the pattern in the code repeats a repetition; the server stood still for seconds",
];
const LEAK: Row = [/^leaking_message /, "true", "the exception's text stands in the answer"];

/** The judgements by application; the first row that fits counts. */
export const JUDGED: Record<string, Row[]> = {
  "VAmPI": [
    [/^foreign_record GET \/books/, "true", "documented: the owner is not compared"],
    [/^forged_token_weak_key/, "true", 'documented: the key is "random"'],
    [/^\w+ GET \/createdb/, "true", "two at once insert the same users: UNIQUE constraint failed"],
    [/^secrets_shown GET .*_debug/, "true", "documented: passwords in plain text"],
    [/^granted_on_create/, "true", "documented: admin is taken from the body"],
    [/^double_submit POST .*register/, "true", "the uniqueness error becomes a 500 (its log)"],
    [/^sql_injection/, "true", "documented: the name is pasted into the query"],
    [/^foreign_value PUT .*password/, "true", "documented: the name in the address wins"],
    [/^(field_|body_|text_)/, "true", "an exception of the handler becomes a 500"],
    LIMIT,
    PATTERN,
    ENUMERATION,
    LEAK,
    ...CRASHES,
  ],
  "vuln-bank": [
    [/^sql_injection/, "true", "the text is pasted into the query (read in the code)"],
    [/^granted_on_create/, "true", "documented: every field is inserted"],
    [/^secrets_shown/, "true", "documented: password or CVV in the answer"],
    [/^(negative|zero)_amount/, "true", "the code compares with the balance only"],
    [/^forged_token/, "true", 'documented: the key is "secret123", and errors are passed over'],
    [/^secrets_shown GET .*ai/, "true", "documented: the prompt is shown without a login"],
    [/^page_as_picture/, "true", "documented: the type is not looked at, and the page is served"],
    [/^call_back/, "true", "documented: the listener was called by the server"],
    [/^spend_race/, "true", "documented: the balance is read before and written after"],
    [/^graph_schema/, "true", "documented: introspection is on"],
    [/^prompt_injection/, "true", "documented: the prompt stands in the answer"],
    [/^unknown_recipient/, "true", "the update of no row is not noticed, and the sender pays"],
    [/^foreseen_number POST .*bill-/, "true", "documented: the reference is the second"],
    [/^code_limit/, "true", "documented: three or four digits, and no counter"],
    [/^foreign_value POST .*toggle-freeze/, "true", "the code compares no owner (its comment too)"],
    [/^foreign_value GET \/(check_balance|transactions)/, "true", "documented: no login is asked"],
    [/^double_submit POST .*charge/, "false", "it was refused before its last byte was sent"],
    [/^double_submit/, "true", "the uniqueness error of the database becomes a 500"],
    [/^good_case/, "true", "the documented request fails with 500"],
    [/^field_type POST .*bill-payments/, "true", "a text is taken for the documented number"],
    [/^(field_|body_|text_|race_|mass_)/, "true", "an exception of the handler becomes a 500"],
    LIMIT,
    ENUMERATION,
    LEAK,
    ...CRASHES,
  ],
  "RESTaurant": [
    [/^foreign_field PUT \/profile/, "true", "documented: the user is taken from the body"],
    [/^foreign_record GET \/orders/, "true", "documented: the owner is not compared"],
    [/^forged_token/, "true", "documented: signatures are not verified"],
    [/^secrets_shown GET \/debug/, "true", "the environment of the process is shown to everybody"],
    [/^own_role PUT/, "true", "documented: whoever is logged in sets every role but one"],
    [/^uneven_rights DELETE \/menu/, "true", "documented: the deletion asks for no role"],
    [/^good_case PUT \/users\/update_role/, "true", "the documented request fails with 500"],
    [/^(mass_|field_|body_|text_)/, "true", "an exception of the handler becomes a 500"],
    LIMIT,
    LEAK,
    ...CRASHES,
  ],
  "vAPI": [
    [/^sql_injection/, "true", "documented: the text is pasted into the query"],
    [/^text_command/, "true", "documented: the text is part of a command line"],
    [/^secrets_shown GET \/user/, "true", "documented: the password in plain text"],
    [/^secrets_shown POST \/user/, "true", "the answer repeats the password that was sent"],
    PATTERN,
    [/^text_nul GET \/uptime/, "true", "documented: the flag is not validated, os.popen raises"],
    [/^(field_|body_|text_|good_case|header_|method_)/, "true", "the handler's exception is a 500"],
    LIMIT,
    ENUMERATION,
    LEAK,
    ...CRASHES,
  ],
  "vulnapi": [
    [/^forged_token/, "true", "documented: the key can be guessed"],
    [/^sql_injection/, "true", "documented: the text is pasted into the query"],
    [/^text_traversal/, "true", "documented: the answer shows /etc/passwd"],
    [/^text_template/, "true", "documented: the product was computed"],
    [/^call_back/, "true", "documented: the listener was called by the server"],
    [/^(field_|body_|text_|good_case)/, "true", "an exception of the handler becomes a 500"],
    LIMIT,
    ENUMERATION,
    LEAK,
    ...CRASHES,
  ],
  "API Security Dojo": [
    [/^sql_injection/, "true", "documented (V06): the search is pasted into the query"],
    [/^secrets_shown GET .*debug/, "true", "documented (V08): all variables of the process"],
    [/^secrets_shown GET .*v1/, "true", "documented (V09): password_hash in the old version"],
    [/^auth_missing GET \/api\/users/, "true", "the login is optional in the code, and documented"],
    [/^foreign_value PUT/, "true", "documented (V01): the owner is not compared"],
    [
      /^field_command POST .*tools/,
      "true",
      "documented (V07): the product was computed by a shell",
    ],
    [/^double_submit POST .*register/, "true", "the uniqueness error becomes a 500"],
    [/^field_\w+ PUT .*users/, "true", "a name that is taken ends in a 500, not in a refusal"],
    LIMIT,
    ENUMERATION,
    ...CRASHES,
  ],
  "Radware": [
    [/^foreign_/, "true", "documented: the owner is not compared (its comments too)"],
    [/^own_role/, "true", "documented: is_admin is taken from the query"],
    [/^admin_only POST .*coupons/, "true", "the code asks for no role (documented)"],
    [/^method_unlisted/, "true", "the code serves PUT, which the document does not list"],
    [/^(field_|body_|text_|number_)/, "true", "an exception of the handler becomes a 500"],
    LIMIT,
    ...CRASHES,
  ],
  "Zero-Health": [
    [/^sql_injection/, "true", "documented: the e-mail is pasted into the query"],
    [/^auth_garbage/, "true", "documented: a token that fails is decoded without its signature"],
    [/^secrets_shown GET \/api\/info/, "true", "documented: key and password in the answer"],
    [/^double_submit/, "true", "the uniqueness error of the database becomes a 500"],
    [/^field_type POST .*chat$/, "true", "an object is taken for the documented text"],
    [/^(field_|body_|text_)/, "true", "an exception becomes a 500, or ends the process (its log)"],
    LIMIT,
    LEAK,
    ...CRASHES,
  ],
  "Security Vulnerability Lab": [
    [/^sql_injection/, "true", "documented: the text is pasted into the query"],
    [/^good_case GET/, "true", "the document promises 200 alone, and the code redirects"],
    [
      /^double_submit POST \/signup/,
      "true",
      "two at once insert the same user, which becomes a 500",
    ],
    [/^secrets_shown GET \/download/, "true", "documented: the file of the database"],
    LIMIT,
    LEAK,
    ...CRASHES,
  ],
  "Alertmanager": [
    [/^unknown_id DELETE \/silence/, "true", "an unknown silence is answered 500, its reading 404"],
  ],
  "PowerDNS": [
    [/^number_huge GET .*search-data/, "true", "std::out_of_range in the log: stoi of the number"],
  ],
  "Websheep, access": [
    [/^foreign_value GET .*sheep/, "true", "the exercise: the farmer is not compared"],
    [/^\w+ POST \/tokens$/, "true", "a body without a password ends the process (unhandled)"],
    [/^\w+ DELETE \/tokens/, "true", "the token of nobody is read, which becomes a 500"],
    [/^(body_empty|field_type) (PATCH|POST)/, "true", "the body breaks the document and is taken"],
  ],
  "Websheep, tokens": [
    [/^forged_token/, "true", "the exercise: the token is decoded and not verified"],
    [/^\w+ POST \/tokens$/, "true", "a body without a password ends the process (unhandled)"],
    [/^(body_empty|field_type) (PATCH|POST)/, "true", "the body breaks the document and is taken"],
  ],
};

/** The judgement of this finding; "not judged" without one. */
export function judgementOf(app: string, { family, operation }: Finding): Judgement {
  const row = JUDGED[app]?.find(([finding]) => finding.test(`${family} ${operation}`));
  return row ? { is: row[1], why: row[2] } : { is: "not judged", why: "" };
}
