/**
 * Owns the variables that a command gets only when it is in its sandbox and runs as its user. They make the
 * loader or the shell of a program run code from a file, and the programs that make the sandbox run outside
 * of it, possibly as root.
 *
 * variables-1 No variable of a task makes a program load anything unless the program belongs to the task.
 */
const LATE =
  /^(LD_\w+|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|GETCONF_DIR|MALLOC_TRACE|HOSTALIASES|RES_OPTIONS|RESOLV_HOST_CONF|LOCALDOMAIN|NIS_PATH|TZDIR|BASH_ENV|ENV)$/;
const PREFIX = "HOLDFAST_LATE_";

export interface LateVariables {
  /** All variables. The late ones have names that no program knows. */
  readonly env: Readonly<Record<string, string>>;
  /** Text for a shell that gives them their own names. */
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
