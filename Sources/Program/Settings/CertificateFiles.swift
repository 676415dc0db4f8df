package import Crypto
package import JSON

/// The PEM files of the certificate and the key of an HTTPS server, which the settings name.
package struct CertificateFiles: Sendable, Equatable {
  private static let maximumBytes = 1024 * 1024
  private static let expectedFile = "the path of a PEM file that this process can read"

  package let certificatePath: String
  package let keyPath: String

  /// Reads both files and checks that they belong together. The certificate is nil if there is a fault, whose place is the
  /// setting.
  package func read() -> (certificate: ServerCertificate?, faults: [InvalidValue]) {
    var faults: [InvalidValue] = []
    let chain = contents(Setting.certificate.name, certificatePath, &faults)
    let key = contents(Setting.certificateKey.name, keyPath, &faults)
    guard let chain, let key else { return (nil, faults) }
    do throws(ServerCertificateError) {
      return (try ServerCertificate(chain: chain, key: key), [])
    } catch {
      return (nil, [fault(ofKey: error.isOfKey, error.reason, expected: error.expected)])
    }
  }

  /// The fault of one of the files. `reason` is the rest of a sentence about it.
  package func fault(ofKey: Bool = false, _ reason: String, expected: String) -> InvalidValue {
    InvalidValue(
      place: ofKey ? Setting.certificateKey.name : Setting.certificate.name,
      seen: "the file '\(ofKey ? keyPath : certificatePath)' \(reason)", expected: expected)
  }

  private func contents(_ setting: String, _ path: String, _ faults: inout [InvalidValue]) -> [UInt8]? {
    do throws(InvalidValue) {
      return try SettingFile.read(
        path, "the file '\(path)'", maximumBytes: CertificateFiles.maximumBytes, expected: CertificateFiles.expectedFile
      )
    } catch {
      faults.append(InvalidValue(place: setting, seen: error.seen, expected: error.expected))
      return nil
    }
  }
}

extension CertificateFiles {
  /// Reads the settings and the files, and reports faults. Nil without the settings, or with a fault.
  package static func read(_ reader: inout EnvironmentReader) -> (
    files: CertificateFiles, certificate: ServerCertificate
  )? {
    let certificatePath = reader.text(.certificate)
    let keyPath = reader.text(.certificateKey)
    switch (certificatePath, keyPath) {
    case (nil, nil): return nil
    case (_?, nil):
      reader.report(
        Setting.certificateKey.name, seen: "not set",
        expected:
          "the PEM file of the private key, because \(Setting.certificate.name) is set (set neither for plain HTTP)")
    case (nil, _?):
      reader.report(
        Setting.certificate.name, seen: "not set",
        expected:
          "the PEM file of the certificate, because \(Setting.certificateKey.name) is set (set neither for plain HTTP)")
    case (let certificatePath?, let keyPath?):
      let files = CertificateFiles(certificatePath: certificatePath, keyPath: keyPath)
      let (certificate, faults) = files.read()
      for fault in faults {
        reader.report(fault.place, seen: fault.seen, expected: fault.expected)
      }
      return certificate.map { (files, $0) }
    }
    return nil
  }
}
