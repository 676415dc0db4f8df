#if canImport(Glibc)
  import Glibc
#endif

/// The name of a worker: `<host>-<pid>-<random>`, at most 64 of `A-Za-z0-9._-`. A fenced worker gets a
/// new one.
public struct WorkerName: Sendable, Equatable {
  public let value: String
  /// The beginning of the nonces that this worker gives to jobs: short, and with the time of a claim unique in the fleet.
  let nonceBase: String

  /// Makes a new name from the host name, the process id and a random number.
  public init() {
    var buffer = [CChar](repeating: 0, count: 256)
    gethostname(&buffer, buffer.count - 1)
    let host = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    self.init(host: String(decoding: host, as: UTF8.self), process: getpid(), random: .random(in: 0...UInt64.max))
  }

  init(host: String, process: Int32, random: UInt64) {
    let allowed = host.unicodeScalars.filter {
      $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil || $0 == "." || $0 == "-")
    }
    let drawn = String(random, radix: 36)
    let shortHost = String(String.UnicodeScalarView(allowed.prefix(32)))
    value = "\(shortHost.isEmpty ? "worker" : shortHost)-\(process)-\(drawn.prefix(6))"
    nonceBase = String(drawn.prefix(8))
  }
}
