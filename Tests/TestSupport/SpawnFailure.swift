import Glibc

/// A program that could not be started; `code` is an errno.
struct SpawnFailure: Error, CustomStringConvertible {
  let program: String
  let code: Int32

  var description: String { "cannot start \(program): \(String(cString: strerror(code)))" }
}
