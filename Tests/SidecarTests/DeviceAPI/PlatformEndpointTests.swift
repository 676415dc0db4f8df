import Registry
import SidecarSupport
import Testing

@testable import Sidecar
@testable import PushModel

struct PlatformEndpointTests {
  private let token = String(repeating: "0123456789abcdef", count: 4)

  private func arn(_ device: Device, app: String? = "com.default") -> String {
    device.platformEndpoint(defaultBundleID: app, defaultEnvironment: .sandbox)
  }

  @Test func `the ARN of a device never changes`() {
    let uuid = "a8ae6e6e-e929-5bea-bafc-fc5258c8ccd6"
    #expect(Device.endpointID(of: token) == uuid)
    let device = Device(token: DeviceToken(token), bundleID: "com.a", environment: .production)
    #expect(arn(device) == "arn:martlet:push:production:com.a:endpoint/\(uuid)")
  }

  @Test func `missing values of a device are the configured ones`() {
    #expect(arn(Device(token: DeviceToken(token))).hasPrefix("arn:martlet:push:sandbox:com.default:endpoint/"))
    #expect(arn(Device(token: DeviceToken(token)), app: nil).hasPrefix("arn:martlet:push:sandbox::endpoint/"))
  }

  @Test func `a page token is valid for its user only`() {
    let page = DevicePageToken(userID: "álice \"x\"", deviceToken: DeviceToken(token))
    #expect(DevicePageToken(parsing: page.text, userID: "álice \"x\"") == page)
    #expect(DevicePageToken(parsing: page.text, userID: "bob") == nil)
    #expect(page.text.utf8.allSatisfy { $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "&") })
  }
}
