/**
 * Owns the variables that a command gets only when it stands in its sandbox, as its user. They tell a program's loader
 * or its shell to run code from a file; and the programs that make the sandbox run outside of it, as root perhaps.
 *
 * Q10 No variable of a task makes a program that is not the task's load anything.
 */
const LATE =
  /^(LD_\w+|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|GETCONF_DIR|MALLOC_TRACE|HOSTALIASES|RES_OPTIONS|RESOLV_HOST_CONF|LOCALDOMAIN|NIS_PATH|TZDIR|BASH_ENV|ENV)$/;
const PREFIX = "HOLDFAST_LATE_";

export interface LateVariables {
  /** All variables, the late ones by names that mean nothing to anybody. */
  readonly env: Readonly<Record<string, string>>;
  /** Text for a shell, which gives them their own names. */
  readonly naming: string;
}

export function lateVariables(env: Readonly<Record<string, string>>): LateVariables {
  const early: Record<string, string> = {};
  let naming = "";
  for (const [name, value] of Object.entries(env)) {
    const isLate = LATE.test(name);
    early[isLate ? PREFIX + name : name] = value;
    if (isLate) naming += `export ${name}="$${PREFIX}${name}"; unset ${PREFIX}${name}; `;
  }
  return { env: early, naming };
}
