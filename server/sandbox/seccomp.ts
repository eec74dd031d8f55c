/** The numbers of the system calls that the filter names, by architecture. */
interface Calls {
  /** The architecture as the kernel reports it to a filter. */
  audit: number;
  socket: number;
  ioctl: number;
  clone: number;
  clone3: number;
  /** Calls that always fail with EPERM. */
  refused: readonly number[];
}

const EVERYWHERE = {
  clone3: 435,
  // io_uring_setup, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr,
  // open_tree_attr: a ring would pass by the filter, the others mount.
  refused: [425, 428, 429, 430, 431, 432, 433, 442, 467],
};

const CALLS: Record<string, Calls> = {
  x64: {
    ...EVERYWHERE,
    audit: 0xc000003e,
    socket: 41,
    ioctl: 16,
    clone: 56,
    refused: [
      ...EVERYWHERE.refused,
      // unshare setns mount umount2 pivot_root chroot
      ...[272, 308, 165, 166, 155, 161],
      // add_key request_key keyctl: keys of the user's session
      ...[248, 249, 250],
      // bpf perf_event_open userfaultfd open_by_handle_at syslog
      ...[321, 298, 323, 304, 103],
      // kexec_load kexec_file_load init_module finit_module delete_module
      ...[246, 320, 175, 313, 176],
      // swapon swapoff reboot quotactl acct settimeofday clock_settime adjtimex
      ...[167, 168, 169, 179, 163, 164, 227, 159],
      // iopl ioperm modify_ldt uselib
      ...[172, 173, 154, 134],
    ],
  },
  arm64: {
    ...EVERYWHERE,
    audit: 0xc00000b7,
    socket: 198,
    ioctl: 29,
    clone: 220,
    refused: [
      ...EVERYWHERE.refused,
      ...[97, 268, 40, 39, 41, 51],
      ...[217, 218, 219],
      ...[280, 241, 282, 265, 116],
      ...[104, 294, 105, 273, 106],
      ...[224, 225, 142, 60, 89, 170, 112, 171],
    ],
  },
};

// One instruction: code, jump if true, jump if false, constant.
type Instruction = [code: number, yes: number, no: number, k: number];
const LOAD = 0x20; // ld [k]
const EQUAL = 0x15; // jeq #k
const ABOVE = 0x35; // jge #k
const HAS = 0x45; // jset #k
const RETURN = 0x06; // ret #k
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const FIRST_AT = 16;
const SECOND_AT = 24;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;
const NEW_USER = 0x10000000;
/** Unix, IPv4, IPv6 and netlink sockets; others, such as vsock, reach beyond a network namespace. */
const FAMILIES = [1, 2, 10, 16];
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** Calls of the 32-bit variant of x86-64. */
const X32 = 0x40000000;

/**
 * The filter of system calls in the sandbox, as `bwrap --seccomp` reads it. It refuses further
 * namespaces and mounts, the kernel's keys, sockets past the network namespace, and typing into a
 * terminal. Null for an architecture whose calls gate does not know.
 */
export function seccompFilter(architecture: string): Uint8Array | null {
  const calls = Object.hasOwn(CALLS, architecture) ? CALLS[architecture]! : null;
  if (calls === null) return null;
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [EQUAL, 1, 0, calls.audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER_AT],
    ...(architecture === "x64" ? [[ABOVE, 0, 1, X32], [RETURN, 0, 0, KILL]] as Instruction[] : []),
    ...calls.refused.flatMap((call) => when(call, [[RETURN, 0, 0, EPERM]])),
    // Its flags are in memory, where a filter cannot look; programs fall back to `clone`.
    ...when(calls.clone3, [[RETURN, 0, 0, ENOSYS]]),
    ...when(calls.clone, [
      [LOAD, 0, 0, FIRST_AT],
      [HAS, 0, 1, NEW_USER],
      [RETURN, 0, 0, EPERM],
      [RETURN, 0, 0, ALLOW],
    ]),
    ...when(calls.ioctl, [
      [LOAD, 0, 0, SECOND_AT],
      [EQUAL, 1, 0, TIOCSTI],
      [EQUAL, 0, 1, TIOCLINUX],
      [RETURN, 0, 0, EPERM],
      [RETURN, 0, 0, ALLOW],
    ]),
    ...when(calls.socket, [
      [LOAD, 0, 0, FIRST_AT],
      ...FAMILIES.map((family, at): Instruction => [EQUAL, FAMILIES.length - at, 0, family]),
      [RETURN, 0, 0, EAFNOSUPPORT],
      [RETURN, 0, 0, ALLOW],
    ]),
    [RETURN, 0, 0, ALLOW],
  ];
  return encode(program);
}

/** Runs the body, which returns on every way, only for this call. */
function when(call: number, body: Instruction[]): Instruction[] {
  return [[EQUAL, 0, body.length, call], ...body];
}

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  program.forEach(([code, yes, no, k], at) => {
    view.setUint16(at * 8, code, true);
    view.setUint8(at * 8 + 2, yes);
    view.setUint8(at * 8 + 3, no);
    view.setUint32(at * 8 + 4, k, true);
  });
  return bytes;
}
