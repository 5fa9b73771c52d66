// swift-tools-version:6.0
import PackageDescription

let package = Package(
    name: "Peer",
    dependencies: [.package(path: "../SwiftQueue")],
    targets: [
        .executableTarget(
            name: "Peer", dependencies: ["SwiftQueue"], swiftSettings: [.swiftLanguageMode(.v5)])
    ]
)
