{
  "variables": {
    "core_sources": ["<!@(node -p \"require('fs').readdirSync('native/core').filter(f=>f.endsWith('.cc')&&(!/_(linux|darwin)\\.cc$/.test(f)||f.endsWith('_'+process.platform+'.cc'))).map(f=>'native/core/'+f).join(' ')\")"],
    "wrap_sources": ["<!@(node -p \"require('fs').readdirSync('native/wrap').filter(f=>f.endsWith('.cc')).map(f=>'native/wrap/'+f).join(' ')\")"]
  },
  "targets": [
    {
      "target_name": "millrace",
      "sources": ["native/addon.cc", "native/old_glibc.cc", "<@(core_sources)", "<@(wrap_sources)"],
      "include_dirs": ["native", "<!(node -p \"require('node-addon-api').include_dir\")"],
      "defines": ["NAPI_VERSION=8", "NAPI_DISABLE_CPP_EXCEPTIONS"],
      "cflags": ["-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"],
      "cflags_cc": ["-std=c++17", "-O3", "-fno-rtti", "-fno-exceptions"],
      "cflags_cc!": ["-std=gnu++17", "-std=gnu++20", "-O2"],
      "xcode_settings": {
        "CLANG_CXX_LANGUAGE_STANDARD": "c++17",
        "GCC_ENABLE_CPP_EXCEPTIONS": "NO",
        "GCC_SYMBOLS_PRIVATE_EXTERN": "YES",
        "MACOSX_DEPLOYMENT_TARGET": "11.0",
        "WARNING_CFLAGS": ["-Wall", "-Wextra", "-Werror"]
      }
    }
  ]
}
