import { BlockList, isIP } from "node:net";

/** Networks of IPv4 that belong to this machine, to its own network, or to nobody. */
const CLOSED_4 = [
  ...["0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"],
  ...["172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"],
  ...["198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"],
];

/** Of IPv6 only this range belongs to the public network; parts of it hold an IPv4 address. */
const OPEN_6 = "2000::/3";
const CLOSED_6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

const CLOSED = listOf([...CLOSED_4, ...CLOSED_6]);
const OPEN = listOf([OPEN_6]);

/**
 * Whether an address belongs to the public network: not to this machine, its own network or the
 * service of a cloud that tells a machine its keys.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !CLOSED.check(address, "ipv4");
  return family === 6 && OPEN.check(address, "ipv6") && !CLOSED.check(address, "ipv6");
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    list.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}
