/**
 * The filter as bytes. An interpreter runs it here, and its answers are compared with a plain list of what is
 * refused.
 */
import { closeSync, existsSync, fstatSync, readFileSync, readlinkSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openSeccomp, seccompProgram } from "../../../src/process/sandbox/seccomp.ts";
import { type Architecture, numberOf, SYSTEM_CALLS } from "../../../src/process/sandbox/syscalls.ts";

interface Asked {
  readonly audit: number;
  readonly number: number;
  readonly args: readonly bigint[];
}

const ARCHITECTURES: readonly Architecture[] = ["x64", "arm64"];
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const errno = (value: number) => 0x00050000 + value;

/** Runs the program as the kernel would. An instruction that our filter does not need throws. */
function run(program: Buffer, { audit, number, args }: Asked): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  for (const [index, arg] of args.entries()) data.writeBigUInt64LE(arg, 16 + 8 * index);
  let register = 0;
  for (let at = 0; ; at += 1) {
    if (at * 8 >= program.length) throw new Error("ran out of the program");
    const value = program.readUInt32LE(at * 8 + 4);
    const jumpIf = (isTrue: boolean) => program.readUInt8(at * 8 + (isTrue ? 2 : 3));
    switch (program.readUInt16LE(at * 8)) {
      case 0x20:
        register = data.readUInt32LE(value);
        break;
      case 0x54:
        register = (register & value) >>> 0;
        break;
      case 0x15:
        at += jumpIf(register === value);
        break;
      case 0x35:
        at += jumpIf(register >= value);
        break;
      case 0x06:
        return value;
      default:
        throw new Error(`instruction ${at} is none that is known`);
    }
  }
}

const ALWAYS = new Set(
  `setns mount umount2 pivot_root chroot mount_setattr open_tree open_tree_attr move_mount fsopen fsconfig fsmount
   fspick name_to_handle_at open_by_handle_at fanotify_init keyctl add_key request_key bpf perf_event_open userfaultfd
   io_uring_setup io_uring_enter io_uring_register kexec_load kexec_file_load init_module finit_module delete_module
   reboot swapon swapoff acct syslog quotactl quotactl_fd ioperm iopl clock_settime settimeofday nfsservctl
   lookup_dcookie`.split(/\s+/),
);

/** Which argument is the mode of the file that is made or changed. */
const MODE_AT: Readonly<Record<string, number>> = {
  creat: 1,
  chmod: 1,
  fchmod: 1,
  fchmodat: 2,
  fchmodat2: 2,
  mknod: 1,
  mknodat: 2,
};

/** The answer that a call should get, worked out without the filter's code. */
function expected(architecture: Architecture, { audit, number, args }: Asked): number {
  if (audit !== AUDIT[architecture]) return KILL;
  if (architecture === "x64" && number >= 0x40000000) return errno(38);
  const call = SYSTEM_CALLS.find((one) => numberOf(one, architecture) === number);
  if (call === undefined) return ALLOW;
  const arg = (index: number) => Number((args[index] ?? 0n) & 0xffff_ffffn);
  const has = (index: number, bits: number) => (args[index] ?? 0n) & BigInt(bits);
  const refused = (isRefused: unknown, number = 1) => (isRefused ? errno(number) : ALLOW);
  if (ALWAYS.has(call)) return errno(1);
  if (["openat2", "clone3", "io_setup"].includes(call)) return errno(38);
  if (call === "fcntl") return refused([1024, 1040].includes(arg(1)), 22);
  if (call === "clone") return refused(has(0, 0x7e020000));
  if (call === "unshare") return refused(has(0, 0x7e020080));
  if (call === "ioctl" && [0x40305828, 0x4030582a, 0x40305839].includes(arg(1))) return errno(95);
  if (call === "ioctl") return refused(arg(1) === 0x5412 || arg(1) === 0x541c);
  if (call === "personality") return refused(arg(0) !== 0xffffffff && has(0, 0xfff9fff7));
  if (call === "socketpair") return refused(arg(0) !== 1, 97);
  if (call === "socket") {
    if (arg(0) === 16) return refused(arg(2) !== 0, 93);
    return refused(![1, 2, 10].includes(arg(0)) || (arg(0) === 2 && arg(1) % 16 === 10), 97);
  }
  if (call === "open") return refused(has(1, 0x400040) && has(2, 0o4000));
  if (call === "openat") return refused(has(2, 0x400040) && has(3, 0o4000));
  if (call === "fallocate") return refused(arg(1) % 4 === 1 || has(1, 0x20), 95);
  const at = MODE_AT[call];
  if (at === undefined) throw new Error(`nothing is said of ${call}`);
  const isDevice = call.startsWith("mknod") && [0o2, 0o6].includes((arg(at) >>> 12) % 16);
  return refused(has(at, 0o4000) || isDevice);
}

/** Every bit that a rule tests, and the values that a rule compares with. */
const telling = [
  0, 1, 2, 3, 5, 10, 16, 17, 31, 32, 33, 35, 38, 40, 0x40, 0x41, 0x40305828, 0x4030582a, 0x40305839, 0x80,
  0x5412, 0x541c, 0x20000, 0x40000, 1024, 1040, 0x400000, 0x10000000, 0x40000000, 0x7e020000, 0xffffffff,
  0o755, 0o4755, 0o20666, 0o60666, 0o100666, 0o104755,
];
const word = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...telling) },
  { weight: 1, arbitrary: fc.nat({ max: 0xffffffff }) },
);
/** The upper half has to be ignored, whatever its value is. */
const argument = fc
  .tuple(word, fc.oneof(fc.constant(0), fc.nat({ max: 0xffffffff })))
  .map(([low, high]) => (BigInt(high) << 32n) + BigInt(low));

const asked = (architecture: Architecture): fc.Arbitrary<Asked> => {
  const known = SYSTEM_CALLS.flatMap((call) => numberOf(call, architecture) ?? []);
  return fc.record({
    audit: fc.oneof(
      { weight: 20, arbitrary: fc.constant(AUDIT[architecture]) },
      { weight: 1, arbitrary: fc.constantFrom(0x40000003, 0x40000028, 0xc000003e, 0xc00000b7) },
    ),
    number: fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom(...known) },
      { weight: 2, arbitrary: fc.nat({ max: 500 }) },
      { weight: 1, arbitrary: fc.nat({ max: 0xffffffff }) },
    ),
    args: fc.array(argument, { minLength: 6, maxLength: 6 }),
  });
};

describe.each(ARCHITECTURES)("the filter for %s", (architecture) => {
  const program = seccompProgram(architecture);

  it("seccomp-1 answers every call as the list of refusals says", () => {
    fc.assert(
      fc.property(asked(architecture), (one) => {
        expect(run(program, one)).toBe(expected(architecture, one));
      }),
      { numRuns: 10_000 },
    );
  });

  const header = {
    x64: ["/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"],
    arm64: ["/usr/include/asm-generic/unistd.h"],
  }[architecture].find((path) => existsSync(path));
  if (!header) console.log(`left out: numbers of ${architecture}: the kernel's headers are not installed`);
  it.skipIf(!header)("uses the call numbers of the kernel's own headers", () => {
    const said = new Map(
      [...readFileSync(header ?? "", "utf8").matchAll(/#define __NR_(\w+)\s+(\d+)/g)].map(
        ([, name, number]) => [name, Number(number)] as const,
      ),
    );
    const known = SYSTEM_CALLS.filter((call) => said.has(call));
    expect(known.length).toBeGreaterThan(40);
    for (const call of known) expect([call, numberOf(call, architecture)]).toEqual([call, said.get(call)]);
  });
});

describe("the filter's descriptor", () => {
  it("is new for each launch, read-only and at offset 0, and leaves no file on disk", () => {
    const program = seccompProgram(process.arch as Architecture);
    const fds = [openSeccomp(), openSeccomp()];
    try {
      for (const fd of fds) expect(readFileSync(fd)).toEqual(program);
      expect(new Set(fds).size).toBe(2);
      for (const fd of fds) {
        expect(fstatSync(fd).nlink).toBe(0);
        expect(readlinkSync(`/proc/self/fd/${fd}`)).toMatch(/ \(deleted\)$/);
        const flags = /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "7";
        expect(Number.parseInt(flags, 8) & 3).toBe(0);
      }
    } finally {
      for (const fd of fds) closeSync(fd);
    }
  });
});
