import TestSupport

extension TemporaryDirectory {
  /// The settings for a certificate that ``TestCertificate/write(to:)`` has written here.
  package var certificateSettings: [String: String] {
    ["MARTLET_HTTP_CERT": "\(path)/cert.pem", "MARTLET_HTTP_KEY": "\(path)/key.pem"]
  }
}
