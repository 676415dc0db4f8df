import APNs
import CFiles
import Crypto
import HTTPClient
import HTTPServer
import JSON
import Program
import Redis
import Telemetry

/// What `martlet --version --json` prints.
enum VersionReport {
  static var object: JSONObject {
    [
      "version": Version.current, "commit": commit, "swift": Metrics.swiftVersion,
      "libraries": [
        "libcurl": HTTPClientLibraries.libcurl, "OpenSSL": CryptoLibraries.openSSL,
        "nghttp2": APNsLibraries.nghttp2, "GnuTLS": APNsLibraries.gnuTLS,
        "libmicrohttpd": HTTPServerLibraries.libmicrohttpd, "hiredis": RedisLibraries.hiredis,
      ] as JSONObject,
    ]
  }

  /// The commit that was installed. Nil for a program that was only built.
  private static var commit: String? {
    let commit = String(cString: martlet_commit())
    return commit.isEmpty ? nil : commit
  }
}
