/** The tries that run only on request: they take long or many requests, or may lock a login. */
export const TRIES = ["login-limit", "slow-sql", "slow-pattern"] as const;
export type Try = typeof TRIES[number];
