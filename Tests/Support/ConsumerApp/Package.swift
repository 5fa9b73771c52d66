// swift-tools-version: 6.2
import PackageDescription

// An app as a stranger would write it; scripts/check-consumer looks at what is compiled for it.
let package = Package(
    name: "ConsumerApp",
    platforms: [.iOS(.v18), .macOS(.v15)],
    dependencies: [
        // Named, because the folder of a checkout may be called anything.
        .package(name: "reprise", path: "../../..")
    ],
    targets: [
        .executableTarget(
            name: "ConsumerApp",
            dependencies: [.product(name: "Reprise", package: "reprise")])
    ]
)
