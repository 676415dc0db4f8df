import Glibc

/// Whether this machine knows the name: a bare root may not even know `localhost`.
func isResolvable(_ host: String) -> Bool {
  var addresses: UnsafeMutablePointer<addrinfo>?
  guard getaddrinfo(host, nil, nil, &addresses) == 0 else { return false }
  freeaddrinfo(addresses)
  return true
}
