// SPDX-License-Identifier: Apache-2.0
// The bits of every fill in every dtype. A change here changes every golden value that was ever stored: it needs a new
// generator version.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "harness/core/data/fill/fill.h"

namespace assay {
namespace {

struct Pin {
  const char* fill;
  std::array<uint64_t, kDTypeCount> hash;  // in the order of DType
};

constexpr Pin kPins[] = {
    {"uniform",
     {0x06a0712abeb07386, 0x9e157e730656463c, 0xb2b3fb679987f1a6, 0xfd6a8f197ec9bde6, 0x1c70e81f9b122b8b,
      0x166bab571209e521, 0x0fcf30ee4ce0abc9, 0xdd1a19efcf73c56c, 0x1f9f5c8f4610c299, 0x3a34ec3066dc3a1b,
      0xe844575f24c4d34d, 0x6f60abf3e76dedcd, 0x0a9c6291f15749a4, 0xbe4f2308f2d8ccce}},
    {"normal",
     {0xf939bc6a286697f7, 0x80c9b3973d4bef2d, 0xcbe0fb492c0e9dfa, 0x9e60c19ec748de18, 0x6b8eac3c67bb0f83,
      0x8f1a6319575d3513, 0x7b2fbd48d399e397, 0xacc7c4d7219936c5, 0xb38af3062ffb52f1, 0xb74d77e930f4d762,
      0x1ce0453b941f89d7, 0x11deabbb7bbad13f, 0xd5f134ad8c84651d, 0x9026091f3d52b796}},
    {"lognormal",
     {0x615d6f0c4ccfbfa8, 0x3872fb03a5114c7c, 0xe9c3459be26f22da, 0x8b321f630ecad1c1, 0x091377a001e6f513,
      0xdbc7275d033aee5f, 0x6c02752f8ba14a89, 0x72ccabb22a57429f, 0x9de71408badaccae, 0xc8cb47894fc7b1bc,
      0x75e1cd7c0ed4224c, 0x3795b3f6ad1dda09, 0x2dc24fb583f2130c, 0xc480b5508733c0aa}},
    {"outlier",
     {0x6fb17dab872c4261, 0xa9f8f1f521659194, 0x5971c628782093b6, 0x02a6f0270a068f4a, 0xb9450b81594dc8c8,
      0xaa626c8ac302569d, 0xdaf936f215077e6e, 0x6f41cec4486501f4, 0x1f2d9fc177e6d915, 0x8524a99b08ef3d55,
      0xa85a85370f7e225c, 0xa6cb46c65480b7c5, 0xfce84ce1efa67338, 0x9026091f3d52b796}},
    {"cancel-1e4",
     {0x9eeec8f78006b8e4, 0x5dc4078b2e5274b3, 0x2db543364e3a91a1, 0x8ab07fb078c5bdec, 0x930edf704bf42e1a,
      0xdc49fd39b7773c21, 0x79df0333cd387b2b, 0x2a18572cef9a00a9, 0x47a2e0b6dd8324dc, 0x7a11d6bb43e61a94,
      0xa1e6114cac6bc2c6, 0x4fa536fe7a221a1e, 0x3d6ae3e54e45459d, 0xb7e36fd1453eacad}},
    {"ramp",
     {0x431c5a05024678b7, 0xe003ac0036a7aaf7, 0x339f1cc2e1368a11, 0x82346e14101a46d9, 0x46a11a43947ce8cf,
      0x945bcefd98aad3d3, 0xfca35f9d60d7a0b3, 0x2b93d02f1916aa05, 0xd2d016e8b19245c5, 0xadf3019b40405298,
      0xa51567889481d7de, 0x2defe7b105a91f9f, 0x9c95c41c4cee1171, 0x4f33687ec2ff3564}},
    {"coded",
     {0x65e0e15ee79381ee, 0x8b0ed20afaed655f, 0xd6a8646cfd209a1f, 0x2342ca704d9b2fa5, 0xfee2d477c4739d8f,
      0xb389b5fd8fecbd7d, 0x1d4a6b3ab42bc113, 0x2e4445cfd2ffff37, 0x72ac3a38915bc53f, 0x6c16d370b4181d0a,
      0x901d0ac382ec56cb, 0xb03704965e39cbf6, 0x86a1160e9e761d04, 0x012ecae21e1b4cad}},
    {"subnormal",
     {0x3e9ac3eff3013191, 0xc56ea1060ec19fd1, 0xd6b880c53e87a891, 0xc95b5a64fdb70fca, 0x91fe82b971d12ec4,
      0xc7d5337322dbc311, 0xdbf818c72c34f2b7, 0xd05429b1bf9301ea, 0x2ec7f6661aa41432, 0xe6b47df5762fe79e,
      0x2e1acb4c3fa38701, 0x7bee35674ecff8b7, 0x355f89f13e8d207e, 0x07241e2e48d9168c}},
    {"special",
     {0x2ff091bee91bbc0c, 0xa0f04305784b87fc, 0x081fe4f32d3c0368, 0xc6963c637caba3d0, 0xdd19a4ce9d468231,
      0x08d17225cb9b7ba6, 0x0f79f586850e804e, 0x1856d61dd30671fc, 0xcee090eb549f7cbf, 0xf4911f536e42cfb2,
      0x1fb0aedf0389af85, 0x37fedebd9b8093cb, 0x820f53c8b276c41e, 0x32019f051e4d0e30}},
    {"pow2",
     {0x95556917fad8d182, 0x02faa614d6b13c9f, 0x26846b015a2730d2, 0x4542c9ae5621b40a, 0x7e64b38b1c0e5517,
      0x4de174ef47f04476, 0x74556a7ec8c8d508, 0x3d220ec60b166a67, 0x4d3a17865a22f5e8, 0x79a52debd7f6dcab,
      0x556ee2fef7cdffb8, 0xb36f3d42e2ce7566, 0xede7d44b41e8b11f, 0xfa6e609c650249ea}},
    {"near_one",
     {0x7088b3a139df6744, 0xf727a327bd8f8f13, 0x34acd498e5927eb1, 0x2900a7f51369f16c, 0x208b6d875e2c4b4d,
      0x4460aa6b9081e738, 0x9d0d2ec5ec8149bb, 0x137f545938a2b980, 0xfd379e9d2889938c, 0x0eadbef94af95b4a,
      0xf0d4fdb002c397f3, 0x47f0ce8ed6926c09, 0x549f126c4726544b, 0x012ecae21e1b4cad}},
    {"tosa-0",
     {0x53c6d2ee7f172b5f, 0xc21ed5080af9ec73, 0xe074c40172419fbe, 0xe0933fe723768223, 0x8fd216ab67ed79a1,
      0xe00d4ecef03e5245, 0xeef456c6fade0865, 0xf5f18f4ec302ce5c, 0x03fbd114d8ce2b23, 0xd242915c81f0c7d2,
      0x3c9376af9c8b2fff, 0x6bcded55d3af618a, 0x3eb7e328706086fc, 0x6c067142b86d766f}},
    {"tosa-1",
     {0x57af648e50a1dbe3, 0x265b09ffccd53771, 0x063ca9b524e2cde2, 0xe671449e29ef911b, 0xad37443d4d4deaeb,
      0x20246df7123230dd, 0x892df955e8d2b3e8, 0xdcb9748af2d4ab44, 0xe90db42dbf8bf248, 0x34d7588c4816747c,
      0x23aaf9318b4e238b, 0x91be7bb07e21a0b2, 0x62b37e66943bbaf8, 0x2acd25e84ee28b04}},
    {"tosa-2",
     {0x4bc1a8f6f854ba1a, 0x152b905640745f8d, 0x6540d83f07889933, 0x28b5a6a17eff861d, 0x968405c97396cdb0,
      0xe63d4ee27bc67f7c, 0x3acd5aff76923ec2, 0xe07a37867adba72a, 0xa595eb4414f5fe28, 0xd38d3962a5c41943,
      0x138936e1e06aa967, 0x3152d9f35f9b3b4e, 0xf4fb7212586e9770, 0x72b9810ace49c8d5}},
    {"tosa-3",
     {0x8266a865babd548a, 0xe5eb51c661eb58d6, 0x380f1ebcd83b44f5, 0xd66f736cf12ea65c, 0xdf780a6dbfd10279,
      0x5799451e485f4fd9, 0x57eb94ed57592b87, 0x2efaf25aa2e20ad4, 0xa4a049ec8044c23a, 0x700ec2ca737219ee,
      0x88b54ee9e4b4399b, 0x9d513f24e4d7b1bb, 0xb1bbaeb41ace4841, 0xb9953a7c2b89d4ec}},
    {"tosa-4",
     {0x2348980bfc7b9bdd, 0x7d5cbe57d2f288a2, 0x582f9cd62ce37c59, 0x8d96a5a263245538, 0x3376137e55bbcbd5,
      0xbff70fdb2b6e8c6e, 0xf123f161e8ce984e, 0xbb0c39571d1225bf, 0x0e38e5eccf1f83b1, 0xe0301249da25f6ef,
      0x394a9173ba9acb10, 0xde2963ee260b990d, 0x1fdbf3c1972b3d36, 0xf13cf9f269e59a4b}},
    {"tosa-5",
     {0x84a64f12c95aa7a7, 0xc8e7d9498bfb86ba, 0x6e21c6031a054bbc, 0x6ebb2d2b72c931c0, 0xa67829a3d3f1453d,
      0x34546fffcd98e703, 0xd4fc4d5ed40270b9, 0x6ce78a56196b51e2, 0x94c20e48840c99a3, 0xbff4a894daed9488,
      0x14bd715786e693af, 0xbb514dab1424294b, 0xd6728aa0b310df50, 0x3cc68816a10d7a4d}},
    {"edges",
     {0x65e51bc48d08f24e, 0x1eb639132d9ecaa4, 0xbb83b71801083ff2, 0x01921996404d4757, 0x26f138a21e2de29d,
      0x7601f3ea7fb9fd9f, 0x369de0be565cbdf3, 0x852b5b7fc84a6298, 0x365c6e9d0af968ab, 0x5d96871a535e05c9,
      0x3adefa1063b766ab, 0x6f6395380dcbf202, 0x3115f2e741a16b02, 0xdf579c42375fb653}},
    {"masked",
     {0xb175bac977995732, 0x770f1ce2b29b8aa1, 0x9ba99cb43b50d9c4, 0x5f4e9b02d780b9e9, 0x1669760bbaf046bb,
      0xb870b0d129bf2727, 0xbffa57df892be325, 0x099bb9bcac059bac, 0x20553ad0563cdb3c, 0x965e5e856f181d22,
      0x65b641ec08dbd5d1, 0x04784baf1fe3497e, 0xa2d515525e53f649, 0x16f793390393767f}},
    {"ties",
     {0xb3d75a747c95cdaa, 0xbc82ea1a53cab553, 0xf55f942cf266315f, 0x12d6fb618c7d810e, 0x49c0b2ad6d45f8f5,
      0x9b3fa57d1a87ea32, 0xe08bde3e5f5adf8e, 0x2b41cf0e6009642a, 0xdbab84c7e6455182, 0x7b8effc691f63c5b,
      0xc87fcd32aa28214e, 0xf98ebaa26f6cf110, 0x5c772601fc2497b5, 0xf4d54097727010d2}},
    {"large",
     {0xdb3f5b97c2a4f1a9, 0x4b308b93a5bc3a23, 0xc14df08e6b77910d, 0xe4a6088a0929d1bd, 0x015076f230a04a8c,
      0x6d15a20e8224bc8a, 0xa1d92af694fc9aca, 0x222323b57c798f16, 0x17448edc533845b4, 0x7c17baf503ef6b4f,
      0xdf4da67ecf5aa15c, 0xe3ee58fef804353e, 0xdf27247337328d22, 0x012ecae21e1b4cad}},
    {"negative",
     {0x1ffdf3df3132faeb, 0xa8c36b476daddcc7, 0x3f44d9f3514c9c78, 0xef60a46032d79001, 0x1f13cf347ca1926a,
      0xa36eec34f0719f48, 0xefea2a034115330e, 0xe61dead685eaefd3, 0x40bb4b4beb99947e, 0xd6c84c95bdbeb31f,
      0x38a33d535a3f7802, 0xa6d13966f9027b9a, 0xfce127545ceee1df, 0xd10c0b5eaba64285}},
    {"extremes",
     {0x2d3019471d098adf, 0x1b8bafc2fbf2d0c7, 0x09851e99a9105616, 0x9d6c5426341d23e7, 0xe9886d0ff3f24eaa,
      0xd16d8d91014a15e0, 0x00864d60a6b8e2ba, 0xff01b6b3acdb4e2c, 0x90b73a86f855b37e, 0x55dc8a45e9b87982,
      0xb6d8ef08e4ca38ae, 0x125743cdd82d413b, 0x547581a0953da8c8, 0x02a1911d3b530d7c}},
    {"repeated",
     {0x4db2b657594a8c4f, 0x67f526e4b7348a31, 0x61a93f1b035ffef2, 0x6fda39bf35aeed7c, 0x7b9014c159006411,
      0xb9625a2e6d189161, 0xcb853c99fd9e00d1, 0xcc779f1c5c8c60fe, 0xed743e9f6e50ad4e, 0x09e22fe09945c4d3,
      0x811ed5fff533b0f9, 0x43e0af5b676db093, 0x46159e6c7aeb2433, 0x45f10c7f87f235a2}},
    {"offset",
     {0x7c24397740bba62a, 0xa59fdbc3858f91a7, 0x43e6a819aeba65fc, 0x3edf471a9a71665a, 0xe734a2086d6f6a29,
      0xaac976a1877e9567, 0xf1cbb4631b0276d1, 0x74d5347ac6fe1d75, 0x3240f28414ddfd27, 0xc703cc0c94db2f94,
      0x326e6e0b91615e8d, 0x83b3d35c24d12138, 0x927e783a85953e10, 0x0dd8d15cbfc2ac75}},
};

uint64_t HashOf(const char* fill, DType dtype) {
  std::array<uint64_t, 3> hashes;
  for (int role : {0, 1, 2}) {
    Tensor tensor(dtype, {6, 50, 70});
    FillTensor(ParseFill(fill).value(), 2026, static_cast<uint64_t>(role), 1, role, tensor);
    hashes[static_cast<size_t>(role)] = HashBytes(tensor.data(), tensor.bytes());
  }
  return HashBytes(hashes.data(), sizeof(hashes));
}

TEST(FillPins, BitsAreThoseOfThisGeneratorVersion) {
  EXPECT_EQ(std::size(kPins), KnownFills().size());
  for (const Pin& pin : kPins) {
    std::string line;
    for (size_t d = 0; d < kDTypeCount; ++d) {
      const uint64_t hash = HashOf(pin.fill, static_cast<DType>(d));
      line += fmt::format(" {:#018x},", hash);
      EXPECT_EQ(hash, pin.hash[d]) << pin.fill << " " << Name(static_cast<DType>(d));
    }
    if (HasNonfatalFailure()) fmt::print("now: {{\"{}\", {{{}}}}},\n", pin.fill, line);
  }
}

}  // namespace
}  // namespace assay
