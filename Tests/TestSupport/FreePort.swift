import Glibc

/// Below the ports that the kernel gives to connections: one of those could take a port before its server listens there.
private let ports = 10_240..<32_768
private let maximumTries = 100
private let given = Locked<Set<Int>>([])

/// A TCP port of the loopback interface that was free a moment ago. No port is returned twice.
public func freePort() throws -> Int {
  for _ in 0..<maximumTries {
    let port = Int.random(in: ports)
    if given.withLock({ $0.insert(port).inserted }), try isFree(port) { return port }
  }
  throw Pipe.Failure(code: EADDRINUSE)
}

private func isFree(_ port: Int) throws -> Bool {
  let place = SocketPlace.port(port)
  let descriptor = place.makeSocket()
  guard descriptor >= 0 else { throw Pipe.Failure(code: errno) }
  defer { close(descriptor) }
  return place.bind(descriptor)
}
