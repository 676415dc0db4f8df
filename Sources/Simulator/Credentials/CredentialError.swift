/// Why keys or certificates could not be made or read.
enum CredentialError: Error, CustomStringConvertible {
  case cannotRead(path: String, reason: String)
  case cannotWrite(path: String, reason: String)
  case openSSL(step: StaticString, reason: String)

  var description: String {
    switch self {
    case .cannotRead(let path, let reason): "cannot read \(path): \(reason)"
    case .cannotWrite(let path, let reason): "cannot write \(path): \(reason)"
    case .openSSL(let step, let reason): "OpenSSL failed to \(step): \(reason)"
    }
  }
}
