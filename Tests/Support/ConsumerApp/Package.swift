// swift-tools-version: 6.2
import PackageDescription

// A courier's app as a stranger would write it: its core, a program, and its unit tests, on public
// API alone. scripts/check-consumer builds and runs them, and looks at what is compiled for them.
let package = Package(
    name: "ConsumerApp",
    platforms: [.iOS(.v18), .macOS(.v15)],
    dependencies: [
        // Named, because the folder of a checkout may be called anything.
        .package(name: "reprise", path: "../../..")
    ],
    targets: [
        .target(
            name: "Courier", dependencies: [.product(name: "Reprise", package: "reprise")]),
        .executableTarget(name: "ConsumerApp", dependencies: ["Courier"]),
        .testTarget(
            name: "CourierTests",
            dependencies: [
                "ConsumerApp", "Courier", .product(name: "RepriseTesting", package: "reprise"),
            ]),
    ]
)
