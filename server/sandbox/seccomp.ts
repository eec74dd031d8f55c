import { ATTRIBUTE_CALLS } from "../runtime/attribute_calls.ts";

/** The numbers of the system calls that the filter names, by architecture. */
interface Calls {
  /** The architecture as the kernel reports it to a filter. */
  audit: number;
  socket: number;
  ioctl: number;
  clone: number;
  clone3: number;
  openat2: number;
  /** Calls with the mode of a file, and the place of the mode among their arguments. */
  modes: Record<number, number>;
  /** Calls that make a file if their flags say so, and the place of the flags; the mode is behind. */
  creates: Record<number, number>;
  /** Calls that always fail with EPERM. */
  refused: readonly number[];
  socketpair: number;
  /** Calls that also fail where a command has no namespaces of its own. */
  shared: readonly number[];
  /** Calls about extended attributes; programs go on without them where a disk has none. */
  unsupported: readonly number[];
  /** Calls that reach into another process, each with the place of the argument that names it. */
  reaching: Record<number, number>;
  /** Calls of which only those about the caller itself pass, where it has no namespaces of its own. */
  of_itself: readonly number[];
}

const EVERYWHERE = {
  clone3: 435,
  openat2: 437,
  // io_uring_setup, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr,
  // open_tree_attr: a ring would pass by the filter, the others mount. quotactl_fd sets quotas.
  // pidfd_getfd takes open files of another process, also of the first one.
  refused: [425, 428, 429, 430, 431, 432, 433, 442, 467, 443, 438],
  // process_madvise process_mrelease file_setattr
  shared: [440, 448, 469],
  // setxattrat removexattrat
  unsupported: [463, 466],
};

const CALLS: Record<string, Calls> = {
  x64: {
    ...EVERYWHERE,
    audit: 0xc000003e,
    socket: 41,
    ioctl: 16,
    clone: 56,
    // chmod fchmod fchmodat fchmodat2 creat mknod mknodat
    modes: { 90: 1, 91: 1, 268: 2, 452: 2, 85: 1, 133: 1, 259: 2 },
    // open openat
    creates: { 2: 1, 257: 2 },
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
    socketpair: 53,
    shared: [
      ...EVERYWHERE.shared,
      // setsid setpgid: whoever ends the command ends its group
      ...[112, 109],
      // shm*, sem*, msg*, mq_open mq_unlink: memory and queues of other programs
      ...[29, 30, 31, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241],
      // chown fchown lchown fchownat
      ...[92, 93, 94, 260],
      // setpriority ioprio_set migrate_pages move_pages kcmp process_vm_* fanotify_init
      ...[141, 251, 256, 279, 312, 310, 311, 300],
    ],
    // setxattr …, removexattr …
    unsupported: [...EVERYWHERE.unsupported, 188, 189, 190, 197, 198, 199],
    // ptrace process_vm_writev
    reaching: { 101: 1, 311: 0 },
    // prlimit64 sched_setparam sched_setscheduler sched_setaffinity sched_setattr
    of_itself: [302, 142, 144, 203, 314],
  },
  arm64: {
    ...EVERYWHERE,
    audit: 0xc00000b7,
    socket: 198,
    ioctl: 29,
    clone: 220,
    modes: { 52: 1, 53: 2, 452: 2, 33: 2 },
    creates: { 56: 2 },
    refused: [
      ...EVERYWHERE.refused,
      ...[97, 268, 40, 39, 41, 51],
      ...[217, 218, 219],
      ...[280, 241, 282, 265, 116],
      ...[104, 294, 105, 273, 106],
      ...[224, 225, 142, 60, 89, 170, 112, 171],
    ],
    socketpair: 199,
    shared: [
      ...EVERYWHERE.shared,
      ...[157, 154],
      ...[194, 195, 196, 190, 191, 192, 193, 186, 187, 188, 189, 180, 181],
      ...[54, 55],
      ...[140, 30, 238, 239, 272, 270, 271, 262],
    ],
    unsupported: [...EVERYWHERE.unsupported, 5, 6, 7, 14, 15, 16],
    reaching: { 117: 1, 271: 0 },
    of_itself: [261, 118, 119, 122, 274],
  },
};

// One instruction: code, jump if true, jump if false, constant.
type Instruction = [code: number, yes: number, no: number, k: number];
const LOAD = 0x20; // ld [k]
const EQUAL = 0x15; // jeq #k
const ABOVE = 0x35; // jge #k
const HAS = 0x45; // jset #k
const RETURN = 0x06; // ret #k
const AND = 0x54; // and #k
const NUMBER_AT = 0;
const ARCHITECTURE_AT = 4;
const ARGUMENTS_AT = 16;
const SIZE_OF_ARGUMENT = 8;
const FIRST_AT = ARGUMENTS_AT;
const SECOND_AT = ARGUMENTS_AT + SIZE_OF_ARGUMENT;
const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOTTY = 0x00050019;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;
const EOPNOTSUPP = 0x0005005f;
const NOTIFY = 0x7fc00000;
const NEW_USER = 0x10000000;
/** The bit with which a program runs as the owner of its file, whoever starts it. */
const SET_USER = 0o4000;
/** O_CREAT, and the part of O_TMPFILE that no other flag has. */
const MAKES_FILE = 0x400040;
/** Unix, IPv4, IPv6 and netlink sockets; others, such as vsock, reach beyond a network namespace. */
const FAMILIES = [1, 2, 10, 16];
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** Requests about terminals and open files, and about sockets: the second byte tells. */
const KINDS_OF_REQUESTS = [0x5400, 0x8900];
const KIND_OF_REQUEST = 0xff00;
/**
 * Further requests about files that change nothing or need a file that is open for writing: FIBMAP,
 * FIGETBSZ, FICLONE, FICLONERANGE, FIDEDUPERANGE, FS_IOC_FIEMAP, FS_IOC_GETFLAGS, FS_IOC_FSGETXATTR,
 * FS_IOC_GETVERSION, FS_IOC_GETFSLABEL. File systems have others, such as for attributes, versions,
 * keys and subvolumes, that change what is open for reading only.
 */
const REQUESTS = [
  ...[0x1, 0x2, 0x40049409, 0x4020940d, 0xc0189436],
  ...[0xc020660b, 0x80086601, 0x801c581f, 0x80087601, 0x81009431],
];
const UNIX = 1;
const TYPE_OF_SOCKET = 0xf;
/** Streams and packets, which stay connected to each other. */
const CONNECTED = [1, 5];
/** Calls of the 32-bit variant of x86-64. */
const X32 = 0x40000000;

/** How a filter holds what namespaces would hold. */
export interface SharedFilter {
  /** Whether sockets of the network open; those of other programs on this machine never do. */
  network: boolean;
}

/**
 * The filter of system calls in the sandbox, as `bwrap --seccomp` reads it. It refuses further
 * namespaces and mounts, the kernel's keys, sockets past the network namespace, programs that run as
 * their owner, reaching into the first process, and typing into a terminal. With `shared`, for a
 * command in the namespaces of the machine, it also holds sockets, shared memory, other processes and
 * attributes of files. Without `unix` it holds sockets of Unix, for a command in the machine's network:
 * some of them have no file that a mount could hide. Null for an architecture whose calls gate does not
 * know.
 */
export function seccompFilter(
  architecture: string,
  shared: SharedFilter | null = null,
  { unix = true } = {},
): Uint8Array | null {
  const calls = Object.hasOwn(CALLS, architecture) ? CALLS[architecture]! : null;
  if (calls === null) return null;
  const families = shared === null
    ? FAMILIES.filter((family) => unix || family !== UNIX)
    : shared.network
    ? FAMILIES.filter((family) => family !== UNIX)
    : [];
  const refused = shared === null ? calls.refused : [...calls.refused, ...calls.shared];
  const program: Instruction[] = [
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [EQUAL, 1, 0, calls.audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, NUMBER_AT],
    ...(architecture === "x64" ? [[ABOVE, 0, 1, X32], [RETURN, 0, 0, KILL]] as Instruction[] : []),
    ...refused.flatMap((call) => when(call, [[RETURN, 0, 0, EPERM]])),
    // Their flags are in memory, where a filter cannot look; programs fall back to older calls.
    ...[calls.clone3, calls.openat2].flatMap((call) => when(call, [[RETURN, 0, 0, ENOSYS]])),
    ...withoutSetUser(calls),
    ...withoutFirst(calls),
    ...when(calls.clone, [
      [LOAD, 0, 0, FIRST_AT],
      [HAS, 0, 1, NEW_USER],
      [RETURN, 0, 0, EPERM],
      [RETURN, 0, 0, ALLOW],
    ]),
    ...when(
      calls.ioctl,
      shared === null ? [...typing(), [RETURN, 0, 0, ALLOW]] : [
        ...typing(),
        ...onlyOf(REQUESTS),
        [AND, 0, 0, KIND_OF_REQUEST],
        ...onlyOf(KINDS_OF_REQUESTS),
        // As a file answers that does not know the request.
        [RETURN, 0, 0, ENOTTY],
      ],
    ),
    ...when(calls.socket, [
      [LOAD, 0, 0, FIRST_AT],
      ...families.map((family, at): Instruction => [EQUAL, families.length - at, 0, family]),
      [RETURN, 0, 0, EAFNOSUPPORT],
      [RETURN, 0, 0, ALLOW],
    ]),
    ...shared === null ? [] : withoutNamespaces(architecture, calls),
    [RETURN, 0, 0, ALLOW],
  ];
  return encode(program);
}

/**
 * Refuses to make a file that runs as its owner, because another user of the machine could start it in
 * the project. For all other calls the next instruction follows, with their number loaded.
 */
function withoutSetUser({ modes, creates }: Calls): Instruction[] {
  const refusing = (place: number): Instruction[] => [
    [LOAD, 0, 0, argumentAt(place)],
    [HAS, 0, 1, SET_USER],
    [RETURN, 0, 0, EPERM],
  ];
  const renumber: Instruction = [LOAD, 0, 0, NUMBER_AT];
  return [
    ...Object.entries(modes).flatMap(([call, place]) =>
      when(Number(call), [...refusing(place), renumber])
    ),
    ...Object.entries(creates).flatMap(([call, place]) => {
      const body = refusing(place + 1);
      const made: Instruction[] = [
        [LOAD, 0, 0, argumentAt(place)],
        [HAS, 0, body.length, MAKES_FILE],
      ];
      return when(Number(call), [...made, ...body, renumber]);
    }),
  ];
}

/**
 * Refuses to reach into the first process, whose end ends all others. For all other calls the next
 * instruction follows, with their number loaded.
 */
function withoutFirst({ reaching }: Calls): Instruction[] {
  return Object.entries(reaching).flatMap(([call, place]) =>
    when(Number(call), [
      [LOAD, 0, 0, argumentAt(place)],
      [EQUAL, 0, 1, 1],
      [RETURN, 0, 0, EPERM],
      [LOAD, 0, 0, NUMBER_AT],
    ])
  );
}

/** The low half of an argument, counted from zero. */
function argumentAt(place: number): number {
  return ARGUMENTS_AT + SIZE_OF_ARGUMENT * place;
}

/** Refuses what types into a terminal. The request stays loaded. */
function typing(): Instruction[] {
  return [
    [LOAD, 0, 0, SECOND_AT],
    [EQUAL, 1, 0, TIOCSTI],
    [EQUAL, 0, 1, TIOCLINUX],
    [RETURN, 0, 0, EPERM],
  ];
}

/** Allows the call if the loaded number is one of these. */
function onlyOf(numbers: readonly number[]): Instruction[] {
  return numbers.flatMap((one): Instruction[] => [[EQUAL, 0, 1, one], [RETURN, 0, 0, ALLOW]]);
}

function withoutNamespaces(architecture: string, calls: Calls): Instruction[] {
  return [
    // A pair of datagram sockets, which the kernel also makes of raw ones, reaches every such socket
    // of the machine.
    ...when(calls.socketpair, [
      [LOAD, 0, 0, SECOND_AT],
      [AND, 0, 0, TYPE_OF_SOCKET],
      ...onlyOf(CONNECTED),
      [RETURN, 0, 0, EPERM],
    ]),
    ...calls.unsupported.flatMap((call) => when(call, [[RETURN, 0, 0, EOPNOTSUPP]])),
    ...calls.of_itself.flatMap((call) =>
      when(call, [
        [LOAD, 0, 0, FIRST_AT],
        [EQUAL, 0, 1, 0],
        [RETURN, 0, 0, ALLOW],
        [RETURN, 0, 0, EPERM],
      ])
    ),
    ...Object.keys(ATTRIBUTE_CALLS[architecture] ?? {}).flatMap((call) =>
      when(Number(call), [[RETURN, 0, 0, NOTIFY]])
    ),
  ];
}

/** Runs the body only for this call; it returns, or leaves the number loaded. */
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
