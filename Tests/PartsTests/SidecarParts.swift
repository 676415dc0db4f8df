import EventLoop
import Foundation
import Sidecar
import TestSupport

@testable import Martlet

/// The APIs of all parts, with settings that switch each of them on.
struct SidecarParts {
  let apis: [@EventLoop @Sendable (APIContext) -> any HTTPAPI]

  /// - Parameter app: the one to which the Matrix push gateway sends.
  init(app: String = "com.example.app") throws {
    let directory = try TemporaryDirectory()
    let path = "\(directory.path)/matrix.json"
    let apps = #"{"apps":{"*":{"bundleId":"\#(app)","environment":"production"}}}"#
    try Data(apps.utf8).write(to: URL(filePath: path))
    apis = try SidecarSettings(environment: ["MARTLET_MATRIX": path, "MARTLET_GORUSH": "key"]).sidecar.apis
  }
}
