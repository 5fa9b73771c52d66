// swift-tools-version: 6.2
import PackageDescription

// The courier's app without its screens, as a stranger would write it: on public API alone, with
// nothing of Apple's, so that its tests run anywhere. The app links it; scripts/check-consumer
// builds and tests it, and looks at what is compiled for it.
let package = Package(
    name: "CourierCore",
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [.library(name: "CourierCore", targets: ["CourierCore"])],
    dependencies: [
        // Named, because the folder of a checkout may be called anything.
        .package(name: "reprise", path: "../../..")
    ],
    targets: [
        .target(
            name: "CourierCore", dependencies: [.product(name: "Reprise", package: "reprise")]),
        .executableTarget(name: "CourierTool", dependencies: ["CourierCore"]),
        .testTarget(
            name: "CourierTests",
            dependencies: [
                "CourierCore", .product(name: "RepriseTesting", package: "reprise"),
                // A process that a test kills; iOS starts none.
                .target(name: "CourierTool", condition: .when(platforms: [.macOS, .linux])),
            ]),
    ]
)
