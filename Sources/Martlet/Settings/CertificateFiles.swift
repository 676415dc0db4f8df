import Crypto

/// The PEM files of the certificate and the key of an HTTPS server, which the settings name.
package struct CertificateFiles: Sendable, Equatable {
  /// Why the files cannot be used.
  struct Fault: Error, Equatable {
    /// The setting that names the file.
    let setting: String
    let path: String
    /// What is wrong, as the rest of a sentence about the file.
    let reason: String
    let expected: String
  }

  static let certificateSetting = "MARTLET_HTTP_CERT"
  static let keySetting = "MARTLET_HTTP_KEY"
  private static let maximumBytes = 1024 * 1024
  private static let expectedFile = "the path of a PEM file that this process can read"

  let certificatePath: String
  let keyPath: String

  /// Reads both files and checks that they belong together. The certificate is nil if there is a fault.
  func read() -> (certificate: ServerCertificate?, faults: [Fault]) {
    var faults: [Fault] = []
    let chain = contents(CertificateFiles.certificateSetting, certificatePath, &faults)
    let key = contents(CertificateFiles.keySetting, keyPath, &faults)
    guard let chain, let key else { return (nil, faults) }
    do throws(ServerCertificateError) {
      return (try ServerCertificate(chain: chain, key: key), [])
    } catch {
      let setting = error.isOfKey ? CertificateFiles.keySetting : CertificateFiles.certificateSetting
      let path = error.isOfKey ? keyPath : certificatePath
      return (nil, [Fault(setting: setting, path: path, reason: error.reason, expected: error.expected)])
    }
  }

  private func contents(_ setting: String, _ path: String, _ faults: inout [Fault]) -> [UInt8]? {
    do throws(SettingFile.Fault) {
      return try SettingFile.read(path, maximumBytes: CertificateFiles.maximumBytes)
    } catch {
      let expected = error.expected ?? CertificateFiles.expectedFile
      faults.append(Fault(setting: setting, path: path, reason: error.reason, expected: expected))
      return nil
    }
  }
}

extension CertificateFiles {
  /// Reads the settings and the files, and reports faults. Nil without the settings, or with a fault.
  static func read(_ reader: inout EnvironmentReader) -> (files: CertificateFiles, certificate: ServerCertificate)? {
    let certificatePath = reader.path(certificateSetting)
    let keyPath = reader.path(keySetting)
    switch (certificatePath, keyPath) {
    case (nil, nil): return nil
    case (_?, nil):
      reader.report(
        keySetting, seen: "not set",
        expected: "the PEM file of the private key, because \(certificateSetting) is set (set neither for plain HTTP)")
    case (nil, _?):
      reader.report(
        certificateSetting, seen: "not set",
        expected: "the PEM file of the certificate, because \(keySetting) is set (set neither for plain HTTP)")
    case (let certificatePath?, let keyPath?):
      let files = CertificateFiles(certificatePath: certificatePath, keyPath: keyPath)
      let (certificate, faults) = files.read()
      for fault in faults {
        reader.report(fault.setting, seen: "the file '\(fault.path)' \(fault.reason)", expected: fault.expected)
      }
      return certificate.map { (files, $0) }
    }
    return nil
  }
}
