#if !NIO
    #error(
        "RepriseNIO needs the trait NIO of the package reprise: .package(url: …, traits: [\"NIO\"])"
    )
#endif
