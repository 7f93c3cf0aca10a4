/**
 * Owns the filter of system calls: a small program that the kernel runs before each call of every process in
 * the sandbox. bubblewrap installs it. From then on it applies to every process that is started, and can't be
 * removed.
 *
 * seccomp-1 This program refuses a call whatever rights the caller has.
 */
import { HoldfastError } from "../../contract/index.ts";
import { openData } from "../data-descriptor.ts";
import { type ArgumentTest, ENOSYS, REFUSALS, type RefusedCall } from "./refusals.ts";
import { ARCHITECTURES, type Architecture, isKnownArchitecture, numberOf } from "./syscalls.ts";

/** One instruction of classic BPF. A jump skips this many instructions. */
interface Instruction {
  readonly code: number;
  readonly value: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
}

const [LOAD, AND, RETURN] = [0x20, 0x54, 0x06];
const [JUMP_IF_EQUAL, JUMP_IF_AT_LEAST] = [0x15, 0x35];

/** Offsets in the data that the kernel passes to the program: seccomp_data, in seccomp(2). */
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const lowHalfAt = (arg: number) => 16 + 8 * arg;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const failWith = (errno: number) => 0x0005_0000 | errno;

/** From here on the numbers of x86_64 mean x32: the same calls under other numbers. */
const X32_BIT = 0x4000_0000;

/**
 * A program for another architecture is killed: with every call refused, it could neither report that nor
 * end. Calls of x32 get the answer of most kernels, which do not support them.
 */
export function seccompProgram(architecture: Architecture): Buffer {
  return encoded([
    load(ARCHITECTURE_AT),
    jump(JUMP_IF_EQUAL, ARCHITECTURES[architecture].audit, 1, 0),
    answer(KILL_PROCESS),
    load(NUMBER_AT),
    ...(architecture === "x64" ? [jump(JUMP_IF_AT_LEAST, X32_BIT, 0, 1), answer(failWith(ENOSYS))] : []),
    ...REFUSALS.flatMap((refused) => refusing(refused, architecture)),
    answer(ALLOW),
  ]);
}

/** Begins and ends with the number of the call in the register. */
function refusing({ call, errno, when }: RefusedCall, architecture: Architecture): Instruction[] {
  const number = numberOf(call, architecture);
  if (number === null) return [];
  const refuse = answer(failWith(errno));
  if (when.length === 0) return [jump(JUMP_IF_EQUAL, number, 0, 1), refuse];
  let tests = [refuse];
  for (const test of when.toReversed()) tests = [...tested(test, tests.length), ...tests];
  return [jump(JUMP_IF_EQUAL, number, 0, tests.length + 1), ...tests, load(NUMBER_AT)];
}

/**
 * Continues after itself if the test is true, otherwise after the following instructions, which have this
 * length.
 */
function tested({ arg, mask, is, values }: ArgumentTest, followingLength: number): Instruction[] {
  const jumps = values.map((value, index) => {
    const left = values.length - 1 - index;
    const otherwise = left === 0 ? followingLength : 0;
    return is === "in"
      ? jump(JUMP_IF_EQUAL, value, left, otherwise)
      : jump(JUMP_IF_EQUAL, value, left + followingLength, 0);
  });
  return [load(lowHalfAt(arg)), ...(mask === undefined ? [] : [plain(AND, mask)]), ...jumps];
}

const plain = (code: number, value: number): Instruction => ({ code, value, ifTrue: 0, ifFalse: 0 });
const load = (at: number) => plain(LOAD, at);
const answer = (value: number) => plain(RETURN, value);
const jump = (code: number, value: number, ifTrue: number, ifFalse: number): Instruction => {
  return { code, value, ifTrue, ifFalse };
};

const INSTRUCTION_BYTES = 8;

/** Both architectures have the low byte first. */
function encoded(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * INSTRUCTION_BYTES);
  for (const [index, { code, value, ifTrue, ifFalse }] of instructions.entries()) {
    const at = index * INSTRUCTION_BYTES;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value, at + 4);
  }
  return bytes;
}

/** A new descriptor at the beginning of the program, for `bwrap --seccomp`. The caller closes it. */
export function openSeccomp(): number {
  if (!isKnownArchitecture(process.arch))
    throw new HoldfastError("sandbox_missing", `there is no filter of system calls for ${process.arch}`);
  return openData(seccompProgram(process.arch));
}
