#if !Lab
    #error("The lab needs a trait: swift build --traits Lab")
#endif
