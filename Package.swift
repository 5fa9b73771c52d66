// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
] + (Context.environment["REPRISE_STRICT"] == "1" ? [.treatAllWarnings(as: .error)] : [])

let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
    .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOWebSocket", package: "swift-nio"),
]

let package = Package(
    name: "reprise",
    platforms: [.iOS(.v18), .macOS(.v15)],
    products: [
        .library(name: "Reprise", targets: ["Reprise"]),
        .library(name: "RepriseNIO", targets: ["RepriseNIO"]),
        .library(name: "RepriseServer", targets: ["RepriseServer"]),
        .library(name: "RepriseTesting", targets: ["RepriseTesting"]),
        .executable(name: "reprise", targets: ["RepriseCLI"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
        .package(
            url: "https://github.com/apple/swift-configuration", exact: "1.4.0",
            traits: ["JSON", "CommandLineArguments"]),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(
            url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    ],
    targets: [
        // The device: no NIO, no Hummingbird.
        .target(name: "RepriseCore", swiftSettings: strict),
        .target(name: "RepriseWire", dependencies: ["RepriseCore"], swiftSettings: strict),
        .target(
            name: "RepriseJournal", dependencies: ["RepriseCore", grdb], swiftSettings: strict),
        .target(
            name: "RepriseChannels",
            dependencies: ["RepriseCore", "RepriseJournal", "RepriseWire", grdb],
            swiftSettings: strict),
        .target(
            name: "Reprise",
            dependencies: ["RepriseCore", "RepriseJournal", "RepriseWire", "RepriseChannels"],
            swiftSettings: strict),

        // Transports, server, tools.
        .target(
            name: "RepriseNIO", dependencies: ["RepriseCore"] + nio, swiftSettings: strict),
        .target(
            name: "RepriseServer",
            dependencies: [
                "RepriseWire", grdb,
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ] + nio,
            swiftSettings: strict),
        .target(name: "RepriseTesting", dependencies: ["RepriseCore"], swiftSettings: strict),
        .executableTarget(
            name: "RepriseCLI",
            dependencies: [
                "Reprise", "RepriseNIO", "RepriseServer",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        .testTarget(
            name: "RepriseCoreTests", dependencies: ["RepriseCore", "RepriseTesting"],
            swiftSettings: strict),
        .testTarget(
            name: "RepriseWireTests", dependencies: ["RepriseWire"], swiftSettings: strict),
    ]
)
