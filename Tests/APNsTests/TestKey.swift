import APNs
import Foundation
import TestSupport

/// Keys made by the openssl program, once for all tests.
enum TestKey {
  static let credentials = APNsConfiguration.Credentials(keyID: "ABCDE12345", teamID: "TEAM567890", privateKeyPEM: pem)
  static let pem = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
  static let publicPEM = openssl("pkey", "-pubout", input: pem)
  static let p384 = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384")

  /// Returns an empty string if the program is missing; then every test of a key fails.
  private static func openssl(_ arguments: String..., input: String = "") -> String {
    let process = Process()
    let (stdin, stdout) = (Foundation.Pipe(), Foundation.Pipe())
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardInput = stdin
    process.standardOutput = stdout
    do {
      try process.run()
      try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
      try stdin.fileHandleForWriting.close()
      let output = try stdout.fileHandleForReading.readToEnd() ?? Data()
      process.waitUntilExit()
      return String(decoding: output, as: UTF8.self)
    } catch {
      return ""
    }
  }
}
